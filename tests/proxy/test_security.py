"""Who may connect, and what a peer's bytes may do to those who look on."""

import http.client
import socket

from harness import Client, ProxyTest, free_port, has_ipv6, main, proxy_only, unittest, wait_until

DENIED = b'ERROR this address is not allowed here\r\n'


def connect_from(source, address):
    """A client whose own address is source, one of loopback's."""
    host, port = address.rsplit(':', 1)
    return Client(address, sock=socket.create_connection((host.strip('[]'), int(port)), 20,
                                                           (source, 0)))


def http_status(address, source='127.0.0.1', path='/healthz'):
    host, port = address.rsplit(':', 1)
    connection = http.client.HTTPConnection(host, int(port), 20, (source, 0))
    try:
        connection.request('GET', path)
        return connection.getresponse().status
    finally:
        connection.close()


@proxy_only
class Allow(ProxyTest):
    """Loopback is a whole network: 127.0.0.1 is let in here, 127.9.x.x is not."""

    def allowing(self, allow, **options):
        listen = '127.0.0.1:%d allow=%s' % (free_port(), allow)
        return self.ketamad([self.memcached('s1')], listens=[listen], **options)

    def counts(self, daemon):
        stats = daemon.admin_stats()
        return int(stats['denied_connections']), int(stats['admin_denied_connections'])

    def is_served(self, source, address):
        with connect_from(source, address) as client:
            try:
                return client.ask(b'get k\r\n') == b'END\r\n'
            except (EOFError, OSError):
                return False

    def reload(self, daemon, old, new):
        before = daemon.admin_stats()['reloads']
        text = daemon.render()
        self.assertIn(old, text)
        daemon.reload(text.replace(old, new))
        wait_until(lambda: daemon.admin_stats()['reloads'] != before, None, 'the reload')

    def test_who_is_not_allowed_gets_a_line_and_a_close_and_is_counted(self):
        daemon = self.allowing('127.0.0.1,10.0.0.0/8')
        # the one that saw it listen, and this one
        self.assertTrue(self.is_served('127.0.0.1', daemon.address))
        wait_until(lambda: daemon.admin_stats()['total_connections'] == '2', None, 'both')
        for _ in range(3):
            with connect_from('127.9.0.1', daemon.address) as client:
                self.assertEqual(client.read_until_closed(), DENIED)
        self.assertEqual(self.counts(daemon), (3, 0))
        self.assertEqual(daemon.admin_stats()['total_connections'], '2')
        self.assertTrue(self.is_served('127.0.0.1', daemon.address))

    def test_who_is_not_allowed_is_closed_though_it_sent_much_at_once(self):
        daemon = self.allowing('127.0.0.1')
        with connect_from('127.9.0.1', daemon.address) as client:
            try:
                client.send(b'set k 0 0 100000\r\n' + b'v' * 100000 + b'\r\n')
                self.assertIn(client.read_until_closed(), (DENIED, b''))
            except OSError:
                pass  # closed before it was sent
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')

    def test_the_log_says_it_once_in_a_while(self):
        daemon = self.allowing('127.0.0.1', proxy={'workers': 1})
        for _ in range(20):
            with connect_from('127.9.0.1', daemon.address) as client:
                client.read_until_closed()
        self.assertEqual(self.counts(daemon), (20, 0))
        lines = [line for line in daemon.stderr().split('\n') if ' refused: ' in line]
        self.assertLessEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r'client 127\.9\.0\.1:\d+ refused: listen 127\.0\.0\.1:\d+ ')

    def test_a_reload_lets_others_in_and_closes_those_allowed_no_longer(self):
        daemon = self.allowing('127.0.0.1')
        here, there = 'allow=127.0.0.1', 'allow=127.9.0.0/16'
        stays = self.client(daemon.address)
        self.assertEqual(stays.ask(b'get k\r\n'), b'END\r\n')
        self.reload(daemon, here, there)
        stays.wait_closed()
        wait_until(lambda: self.is_served('127.9.0.1', daemon.address), None, 'the new network')
        self.assertFalse(self.is_served('127.0.0.1', daemon.address))
        self.assertIn('allows other networks', daemon.stderr())
        self.reload(daemon, ' ' + here, '')
        wait_until(lambda: self.is_served('127.0.0.1', daemon.address), None, 'everybody')
        self.assertTrue(self.is_served('127.9.0.1', daemon.address))

    def test_a_reload_that_changes_no_network_closes_nobody(self):
        daemon = self.allowing('127.0.0.1')
        with daemon.client() as client:
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
            self.reload(daemon, 'workers = 2', 'workers = 2\nmax_clients = 77')
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')

    def test_the_admin_port_has_its_own_list_that_changes_live(self):
        daemon, _ = self.pool_of(1)
        admin = daemon.admin_address
        line = 'admin = ' + admin
        self.reload(daemon, line, line + ' allow=127.0.0.1')
        with connect_from('127.9.0.1', admin) as client:
            self.assertEqual(client.read_until_closed(), DENIED)
        self.assertEqual(self.counts(daemon), (0, 1))
        self.assertIn(' refused: its network is not allowed', daemon.stderr())
        self.assertNotIn('takes effect only at the next start', daemon.stderr())
        # the session that asks for the reload gets its answer, and is closed with the others
        watching, asking = self.client(admin), self.client(admin)
        watching.send(b'watch\r\n')
        watching.read_line()
        daemon.write_conf(daemon.render().replace(line, line + ' allow=127.9.0.0/16'))
        asking.send(b'reload\r\n')
        self.assertIn(b'done, generation', asking.read_until_closed())
        watching.wait_closed()
        with connect_from('127.9.0.1', admin) as client:
            client.send(b'stats\r\nquit\r\n')
            self.assertIn(b'STAT admin_denied_connections 1\r\n', client.read_until_closed())

    def test_an_admin_port_that_shall_move_keeps_its_list_until_the_restart(self):
        daemon, _ = self.pool_of(1, proxy={'http': '127.0.0.1:%d allow=127.0.0.1' % free_port()})
        address = daemon.proxy['http'].split()[0]
        self.reload(daemon, daemon.proxy['http'], '127.0.0.1:%d' % free_port())
        self.assertEqual(http_status(address), 200)
        self.assertEqual(http_status(address, '127.9.0.1'), 403)

    def test_the_http_port_says_403_at_once_and_keeps_its_places_free(self):
        address = '127.0.0.1:%d' % free_port()
        daemon, _ = self.pool_of(1, proxy={'http': address + ' allow=127.0.0.1'})
        silent = []
        for _ in range(200):  # more than it has places for
            client = connect_from('127.9.0.1', address)
            silent.append(client)
            self.assertRegex(client.read_until_closed(), rb'^HTTP/1.1 403 Forbidden\r\n')
        self.assertEqual(http_status(address), 200)
        self.assertEqual(http_status(address, '127.9.0.1'), 403)
        self.assertEqual(self.counts(daemon), (0, 201))
        for client in silent:
            client.close()

    def test_an_http_connection_allowed_no_longer_is_told_at_its_next_request(self):
        address = '127.0.0.1:%d' % free_port()
        daemon, _ = self.pool_of(1, proxy={'http': address + ' allow=127.0.0.1'})
        host, port = address.split(':')
        connection = http.client.HTTPConnection(host, int(port), 20)
        for status, network in ((200, '127.0.0.1'), (403, '127.9.0.0/16')):
            if status == 403:
                self.reload(daemon, 'allow=127.0.0.1', 'allow=' + network)
            connection.request('GET', '/healthz')
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
        connection.close()

    @unittest.skipUnless(has_ipv6(), 'no IPv6 here')
    def test_ipv6_networks_let_ipv6_clients_in(self):
        ports = free_port(), free_port()
        daemon = self.ketamad([self.memcached('s1')], listens=[
            '[::1]:%d allow=::1,10.0.0.0/8' % ports[0], '[::1]:%d allow=fd00::/8' % ports[1]])
        self.assertTrue(self.is_served('::1', '[::1]:%d' % ports[0]))
        self.assertFalse(self.is_served('::1', '[::1]:%d' % ports[1]))


if __name__ == '__main__':
    main()
