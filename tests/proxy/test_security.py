"""Who may connect, and what a peer's bytes may do to those who look on."""

import http.client
import json
import os
import pwd
import signal
import socket
import stat
import time

from harness import (TIME_FACTOR, Client, ProxyTest, accepts, answer, free_port, has_ipv6, let_pass, main,
                     open_descriptors, pause_process, proxy_only, unittest, wait_until)

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

    def test_who_is_gone_already_is_not_counted_as_refused(self):
        """As health checks of load balancers are, which connect and reset."""
        daemon = self.allowing('127.0.0.0/16')
        pause_process(daemon.pid)
        for _ in range(50):
            self.client(daemon.address).reset()
        daemon.send_signal(signal.SIGCONT)
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')
        self.assertEqual(self.counts(daemon), (0, 0))

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

    def test_http_connections_that_end_without_a_word_give_their_places_back(self):
        """As those of a port scan do, or of health checks that only connect."""
        address = '127.0.0.1:%d' % free_port()
        daemon, _ = self.pool_of(1, proxy={'http': address})
        self.assertEqual(http_status(address), 200)  # its start is over
        before = open_descriptors(daemon.pid)
        for last_word in (b'', b'\x16\x03\x01\r\n\r\n'):
            clients = [connect_from('127.0.0.1', address) for _ in range(128)]  # as many as it has places for
            wait_until(lambda: open_descriptors(daemon.pid) >= before + 128, None, 'all to be accepted')
            for client in clients:
                client.send(last_word)
                client.close()
            started = time.monotonic()
            self.assertEqual(http_status(address), 200)
            self.assertLess(time.monotonic() - started, 5 * TIME_FACTOR)
            wait_until(lambda: open_descriptors(daemon.pid) < before + 10, None, 'all to be closed')

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


# Quotes, markup, terminal control in 7 and 8 bits, bytes that are no UTF-8.
NASTY = b'%n"\'\\<script>&{}\x01\x07\x1b[2J\x7f\x80\x9b31m\xc3\x28\xff'
AS_WORD = '%25n"\'\\<script>&{}%01%07%1B[2J%7F%80%9B31m%C3(%FF'


@proxy_only
class Outlets(ProxyTest):
    """Keys are anybody's bytes; nobody who looks on may be hurt by them."""

    def setUp(self):
        super().setUp()
        self.http = '127.0.0.1:%d' % free_port()
        self.daemon, self.servers = self.pool_of(1, proxy={'http': self.http, 'log_level': 'debug'},
                                                 pool={'probe_interval': '0'})

    def assert_printable(self, data):
        self.assertEqual([b for b in data if not 32 <= b < 127 and b not in b'\r\n'], [], data)

    def admin_bytes(self, command):
        with Client(self.daemon.admin_address) as client:
            client.send(command + b'\r\nquit\r\n')
            return client.read_until_closed()

    def get(self, path):
        connection = http.client.HTTPConnection(*self.http.split(':'), timeout=20)
        connection.request('GET', path)
        body = connection.getresponse().read()
        connection.close()
        return body

    def watched(self, request):
        """What watch shows of the request."""
        with Client(self.daemon.admin_address) as watcher, self.daemon.client() as client:
            watcher.send(b'watch get\r\n')
            self.assertRegex(watcher.read_line(), rb'^# ')

            def seen():
                client.ask(request)
                return watcher.has_input()
            wait_until(seen, None, 'the request to be seen')
            return watcher.read_line()

    def test_watch_shows_a_key_encoded_and_whole(self):
        for request in (b'get %s\r\n' % NASTY, b'get %s other more\r\n' % NASTY):
            line = self.watched(request)
            self.assert_printable(line)
            self.assertEqual(line.split()[3].decode(), AS_WORD)

    def test_slow_and_hot_show_a_key_encoded(self):
        self.servers[0].pause()
        with self.daemon.client() as client:
            client.send(b'get %s\r\n' % NASTY)
            let_pass(0.05)  # a request is slow from a millisecond on
            self.servers[0].resume()
            client.read_reply()
        for command in (b'slow', b'hot'):
            answer = wait_until(lambda: AS_WORD.encode() in self.admin_bytes(command)
                                and self.admin_bytes(command), None, 'the key in %s' % command)
            self.assert_printable(answer)

    def test_json_is_valid_and_holds_no_markup(self):
        self.daemon.ask(b'get %s\r\n' % NASTY)

        def body():
            text = self.get('/stats.json')
            return b'script' in text and text
        text = wait_until(body, None, 'the key among the hot ones')
        self.assert_printable(text)
        self.assertNotIn(b'<', text)
        self.assertIn(NASTY.decode('latin-1'), find_texts(json.loads(text)))

    def test_neither_metrics_nor_log_nor_answers_hold_the_key_raw(self):
        with self.daemon.client() as client:
            client.send(b'get %s\r\n%s\r\nget %s\r\n' % (NASTY, NASTY, NASTY * 20))
            client.barrier()
        for answer in (self.get('/metrics'), self.admin_bytes(b'stats'), self.admin_bytes(b'stats commands'),
                       self.admin_bytes(b'clients'), self.admin_bytes(b'events'),
                       self.admin_bytes(b'locate ' + AS_WORD.encode()), self.daemon.stderr().encode()):
            self.assert_printable(answer)

    def test_a_servers_words_reach_the_log_escaped(self):
        """What a server answers instead of a reply ends its connection, and the log says so."""
        server = self.scripted(answer(b'\x1b[2J\x9b\xff forged\r\n'), 's1')
        daemon = self.ketamad([server], pool={'probe_interval': '0'})
        self.assertRegex(daemon.ask(b'get k\r\n'), rb'^SERVER_ERROR s1')
        self.assert_printable(daemon.stderr().encode())

    def test_names_are_escaped_in_metrics_json_and_log(self):
        http_address = '127.0.0.1:%d' % free_port()
        server = self.memcached()
        daemon = self.ketamad([server.address + ' name="<b>\\\u00f6'], proxy={'http': http_address})
        server.kill()
        wait_until(lambda: daemon.log_has('connection refused|ejected|is out'), None, 'a line about the server')
        self.http = http_address
        self.assert_printable(daemon.stderr().encode())
        self.assert_printable(self.get('/metrics'))
        self.assertIn(b'server="\\"<b>\\\\%C3%B6"', self.get('/metrics'))
        text = self.get('/stats.json')
        self.assertNotIn(b'<', text)
        self.assertIn('"<b>\\\u00c3\u00b6', find_texts(json.loads(text)))

    def test_names_and_values_are_escaped_on_the_admin_port(self):
        """A file's bytes are its writer's, and another may look at them."""
        name = '"<b>\\\u009b31m\u00f6'  # with the control byte that some terminals act on
        daemon = self.ketamad([self.memcached().address + ' name=' + name],
                              pool={'prefix': 'p\u009b31m'})
        self.daemon = daemon
        text = daemon.render()
        answers = b''.join(self.admin_bytes(command) for command in (
            b'servers', b'restore ' + name.encode(), b'stats servers', b'stats settings', b'ring', b'top',
            b'eject x\xc2\x9b31m'))
        for edited in (text.replace('workers', 'wor\u009bkers'), text.replace(name, name + '2')):
            daemon.write_conf(edited)
            answers += self.admin_bytes(b'reload')
        answers += self.admin_bytes(b'events')
        self.assert_printable(answers)
        self.assertIn(b'SERVER main/"<b>\\%C2%9B31m%C3%B6 ', answers)
        self.assertIn(b'STAT main:prefix p%C2%9B31m\r\n', answers)
        self.assertIn(b'server "<b>\\%C2%9B31m%C3%B6 was live already\r\n', answers)
        self.assertIn(b'ERROR no server is called x%C2%9B31m\r\n', answers)
        self.assertIn(b'wor%C2%9Bkers: unknown key', answers)

    def test_a_page_elsewhere_cannot_give_admin_commands(self):
        """A browser can be made to send a form to any port; its lines are not taken for commands."""
        for head in (b'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\n', b'PUT /x HTTP/1.0\r\n\r\n'):
            with Client(self.daemon.admin_address) as client:
                client.send(head + b'log error\r\neject s1\r\n')
                self.assertTrue(client.read_until_closed().startswith(b'HTTP/1.1 '))
        self.assertIn(b'LOG debug\r\n', self.admin_bytes(b'log'))
        self.assertEqual(self.daemon.state('s1'), 'live')
        with self.daemon.client() as client:
            client.send(b'POST / HTTP/1.1\r\nHost: x\r\n\r\nset evil 0 0 1\r\nx\r\n')
            client.read_until_closed()
        self.assertEqual(self.daemon.ask(b'get evil\r\n'), b'END\r\n')

    def test_an_admin_line_with_control_bytes_is_refused_and_not_repeated(self):
        for byte in list(range(1, 32)) + [127]:
            if byte not in b'\t\r\n':
                answer_bytes = self.admin_bytes(b'locate a%cb' % byte)
                self.assertTrue(answer_bytes.startswith(b'ERROR '), answer_bytes)
                self.assert_printable(answer_bytes)

    def test_the_http_port_changes_nothing(self):
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'):
            connection = http.client.HTTPConnection(*self.http.split(':'), timeout=20)
            connection.request(method, '/')
            self.assertIn(connection.getresponse().status, (405, 501))
            connection.close()


def find_texts(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in find_texts(item)]


def status_of(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        return dict(line.rstrip('\n').split(':\t', 1) for line in status if ':\t' in line)


@proxy_only
@unittest.skipUnless(os.geteuid() == 0, 'only root can become another user')
class Unprivileged(ProxyTest):
    def start_as(self, name, **options):
        self.home = getattr(self, 'home', None) or self.temporary_directory()
        os.chmod(self.home, 0o755)
        proxy = {'user': name, 'log': 'file:' + os.path.join(self.home, 'log'),
                 'pidfile': os.path.join(self.home, 'pid')}
        daemon = self.ketamad([self.memcached('s1')], proxy=proxy,
                              preexec=lambda: os.setgroups([0, 1, 2]), **options)
        os.chmod(daemon.directory, 0o755)  # the user reads the configuration at a reload
        daemon.ask(b'get k\r\n')  # it listens before it is another user, and serves after
        return daemon

    def test_user_and_every_group_are_dropped_and_root_does_not_come_back(self):
        daemon = self.start_as('nobody')
        nobody = pwd.getpwnam('nobody')
        status = status_of(daemon.pid)
        self.assertEqual(set(status['Uid'].split()), {str(nobody.pw_uid)})
        self.assertEqual(set(status['Gid'].split()), {str(nobody.pw_gid)})
        self.assertEqual(status['Groups'].split(), [str(nobody.pw_gid)])
        self.assertEqual({status[name] for name in ('CapEff', 'CapPrm', 'CapInh')}, {'0' * 16})
        for task in os.listdir('/proc/%d/task' % daemon.pid):
            self.assertEqual(status_of(int(task))['Uid'], status['Uid'])

    def test_links_that_lie_in_the_folder_of_its_files_are_not_followed_to_others(self):
        """Log and pid file may be in a folder of the user's, who is not to get what is root's."""
        self.home = self.temporary_directory()
        victims = [os.path.join(self.temporary_directory(), 'root') for _ in range(2)]
        for victim, link in zip(victims, ('pid.new', 'log')):
            with open(victim, 'w', encoding='ascii') as file:
                file.write('kept\n')
            os.symlink(victim, os.path.join(self.home, link))
        daemon = self.start_as('nobody')
        for victim in victims:
            self.assertEqual(os.stat(victim).st_uid, 0, victim)
            self.assertTrue(read_text(victim).startswith('kept\n'), victim)
        self.assertEqual(read_text(os.path.join(self.home, 'pid')), '%d\n' % daemon.pid)

    def test_reload_log_and_sockets_go_on_without_root(self):
        """Everything that root opened can be served, opened again and closed by the user."""
        directory = self.temporary_directory()
        os.chmod(directory, 0o755)
        path = os.path.join(directory, 'main.sock')
        daemon = self.start_as('nobody', listens=['127.0.0.1:%d' % free_port(), 'unix:%s mode=0666' % path])
        log = os.path.join(self.home, 'log')
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o666)
        with Client('unix:' + path) as client:
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
        new = '127.0.0.1:%d' % free_port()
        daemon.listens.append(new)
        daemon.reload()
        wait_until(lambda: accepts(new), None, 'the new listener')
        os.truncate(log, 0)
        daemon.send_signal(signal.SIGUSR1)
        wait_until(lambda: 'log opened again' in read_text(log), None, 'the log')
        # where only root may listen nothing changes, and the reason is told
        daemon.listens.append('127.0.0.1:1')
        daemon.reload()
        wait_until(lambda: 'nothing has changed' in read_text(log), None, 'the refusal')
        self.assertIn('cannot listen on 127.0.0.1:1: Permission denied', read_text(log))
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')
        self.assertEqual(daemon.terminate(), 0)

    def test_what_cannot_be_is_told_at_the_start(self):
        daemon = self.ketamad([self.memcached('s1')], proxy={'user': 'no-such-user'}, wait=False)
        daemon.expected_exit = 1
        self.assertEqual(daemon.process.wait(20), 1)
        self.assertIn('user no-such-user: no such user', daemon.stderr())
        other = self.ketamad([self.memcached('s1')], proxy={'user': 'nobody'}, wait=False,
                             preexec=lambda: os.setuid(pwd.getpwnam('daemon').pw_uid))
        other.expected_exit = 1
        self.assertEqual(other.process.wait(20), 1)


def read_text(path):
    with open(path, encoding='utf-8') as text:
        return text.read()


if __name__ == '__main__':
    main()
