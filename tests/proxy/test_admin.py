"""Every command of the admin port."""

import re
import threading

from harness import Client, ProxyTest, keys_of, main, open_descriptors, proxy_only, wait_until



@proxy_only
class AdminCommands(ProxyTest):
    def setUp(self):
        super().setUp()
        self.daemon, self.servers = self.pool_of(3, proxy={'workers': 2})

    def one_line_error(self, command):
        with Client(self.daemon.admin_address) as client:
            client.send(command + b'\r\nversion\r\n')
            self.assertRegex(client.read_line(), rb'^ERROR [^\r\n]+\r\n$')
            self.assertRegex(client.read_line(), rb'^VERSION ')

    def test_help_tells_of_each_command(self):
        names = [line.split()[0] for line in self.daemon.admin('help')]
        for name in ('stats', 'servers', 'ring', 'locate', 'top', 'watch', 'slow', 'hot', 'clients', 'log', 'events'):
            self.assertIn(name, names)
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertTrue(self.daemon.admin('help ' + name)[0].startswith(name))
        self.one_line_error(b'help nonsense')

    def test_bad_input_gets_one_clear_line(self):
        for command in (b'locate', b'locate a b', b'locate %', b'locate %zz', b'locate ' + b'k' * 300, b'log loud',
                        b'ring nowhere', b'clients none', b'clients 0', b'stats bogus', b'version 1', b'hot 1', b'slow x'):
            self.one_line_error(command)

    def test_every_group_of_stats(self):
        self.daemon.ask(b'set k 0 0 1\r\nx\r\nget k\r\n')
        for group in ('', 'servers', 'pools', 'workers', 'commands', 'latency', 'settings', 'memory'):
            stats = self.daemon.admin_stats(group)
            self.assertGreater(len(stats), 5, group)
        self.assertEqual(self.daemon.admin_stats('settings')['main:connections'], '1')
        self.assertEqual(self.daemon.admin_stats('items'), {})

    def test_servers(self):
        lines = self.daemon.admin('servers')
        self.assertEqual(len(lines), 3)
        for line, server in zip(lines, self.servers):
            self.assertIn(server.name, line)
            self.assertIn(server.address, line)
            self.assertIn('live', line)

    def test_after_OK_no_worker_goes_by_what_was_before(self):
        key = keys_of('s1')[0]
        clients = [self.client(self.daemon.address) for _ in range(4)]
        with self.client(self.servers[0].address) as server:
            for number in range(100):
                self.daemon.wait_state('s1', 'live')
                self.daemon.admin('eject s1')
                for client in clients:
                    client.send(b'set %s 0 0 3\r\n%03d\r\n' % (key, number))
                for client in clients:
                    self.assertEqual(client.read_line(), b'STORED\r\n')
                self.assertNotIn(b'%03d' % number, server.ask(b'get %s\r\n' % key), 'of an ejected server')
                self.daemon.admin('restore s1')

    def test_ring_and_locate_agree_with_the_traffic(self):
        self.assertEqual(len(self.daemon.admin('ring')), 4)
        for name in ('s1', 's2', 's3'):
            key = keys_of(name)[0]
            lines = self.daemon.admin('locate ' + key.decode())
            order = [re.match(r'\s+(\d) (\w+)', line) for line in lines]
            order = [match.group(2) for match in order if match]
            self.assertEqual(sorted(order), ['s1', 's2', 's3'])
            self.assertEqual(order[0], name)

    def test_log_level(self):
        self.assertEqual(self.daemon.admin('log debug'), [])
        with Client(self.daemon.admin_address) as client:
            client.send(b'log\r\n')
            self.assertEqual(client.read_line(), b'LOG debug\r\n')

    def test_top(self):
        def counted():
            self.daemon.ask(b'get k\r\n' * 50)
            lines = self.daemon.admin('top')
            return re.search(r'[1-9]\d* requests/s', '\n'.join(lines)) and lines
        lines = wait_until(counted, None, 'a rate')
        self.assertEqual(len([line for line in lines if line.startswith('main/s')]), 3)

    def test_watch_streams_requests_until_a_line_is_sent(self):
        key = b'w\x01\x7f\xff' + b'k' * 10
        with Client(self.daemon.admin_address) as client:
            client.send(b'watch\r\n')
            self.assertRegex(client.read_line(), rb'^# ')
            # workers look for watchers at their next turn
            stopping = threading.Event()

            def ask():
                while not stopping.wait(0.02):
                    self.daemon.ask(b'get %s\r\nset other 0 0 1\r\nx\r\n' % key)
            thread = threading.Thread(target=ask)
            thread.start()
            try:
                line = client.read_line()
                while b' get ' not in line:
                    line = client.read_line()
            finally:
                stopping.set()
                thread.join()
            self.assertRegex(line, rb'^\S+Z 127\.0\.0\.1:\d+ get w%01%7F%FFk{10} s\d \d+us \d+b miss\r\n$')
            client.send(b'\r\nversion\r\n')
            while b' get ' in line or b' set ' in line or line.startswith(b'# '):
                line = client.read_line()
            self.assertEqual(line, b'END\r\n')
            self.assertRegex(client.read_line(), rb'^VERSION ')

    def test_the_line_that_ends_watch_is_no_command(self):
        for line in (b'', b'foo', b'stats', b'quit', b'watch', b'GET / HTTP/1.1'):
            with Client(self.daemon.admin_address) as client:
                client.send(b'watch nothing-has-this\r\n')
                self.assertRegex(client.read_line(), rb'^# ')
                client.send(line + b'\r\nversion\r\n')
                self.assertEqual(client.read_line(), b'END\r\n', line)
                self.assertRegex(client.read_line(), rb'^VERSION ', line)

    def test_a_watcher_that_left_is_forgotten_though_nothing_is_shown(self):
        watchers = [self.client(self.daemon.admin_address) for _ in range(8)]  # as many as may watch
        for client in watchers:
            client.send(b'watch nothing-has-this\r\n')
            self.assertRegex(client.read_line(), rb'^# time')
        most = open_descriptors(self.daemon.pid)
        for client in watchers:
            client.close()
        # to ask again and again does not put off what the others are shown
        with Client(self.daemon.admin_address) as client:
            wait_until(lambda: client.ask(b'watch nothing-has-this\r\n').startswith(b'# time'), None,
                       'those that left to be forgotten')
        # some others may have been opened meanwhile, for probes
        wait_until(lambda: open_descriptors(self.daemon.pid) < most - 3, None, 'their connections to be closed')

    def test_a_watcher_that_ends_its_side_alone_goes_on(self):
        with Client(self.daemon.admin_address) as client:
            client.send(b'watch nothing-has-this\r\n')
            self.assertRegex(client.read_line(), rb'^# time')
            client.finish_sending()
            self.assertEqual([client.read_line() for _ in range(2)], [b'# still watching\r\n'] * 2)

    def test_watch_takes_a_number_behind_us(self):
        for command in (b'watch us>', b'watch us>12abc', b'watch us>-1', b'watch us> 5', b'watch us>99999999999999999999'):
            self.one_line_error(command)

    def test_watch_filters(self):
        with Client(self.daemon.admin_address) as client:
            client.send(b'watch hit\r\n')
            client.read_line()
            stopping = threading.Event()

            def ask():
                self.daemon.ask(b'set there 0 0 1\r\nx\r\n')
                while not stopping.wait(0.02):
                    self.daemon.ask(b'get there\r\nget nowhere\r\n')
            thread = threading.Thread(target=ask)
            thread.start()
            try:
                for _ in range(5):
                    self.assertRegex(client.read_line(), rb' get there .* hit\r\n$')
            finally:
                stopping.set()
                thread.join()

    def test_servers_shows_a_probe_under_way(self):
        daemon, servers = self.pool_of(1, pool={'probe_interval': '50ms', 'probe_timeout': '60s'})
        servers[0].pause()
        line = wait_until(lambda: [line for line in daemon.admin('servers') if 'next_probe=now ' in line], None,
                          'a probe to be under way')[0]
        self.assertIn(' state=live ', line)
        servers[0].resume()
        wait_until(lambda: re.search(r' next_probe=0\.\ds ', daemon.admin('servers')[0]), None, 'it to end')

    def test_slow_shows_the_slowest(self):
        self.servers[0].pause()
        key = keys_of('s1')[0]
        with self.daemon.client() as client:
            client.send(b'get %s\r\n' % key)
            threading.Event().wait(0.5)
            self.servers[0].resume()
            client.read_reply()
        lines = wait_until(lambda: [line for line in self.daemon.admin('slow') if key.decode() in line],
                           None, 'the slow request')
        took = int(re.search(r' (\d+)us ', lines[0]).group(1))
        self.assertGreater(took, 100000)

    def test_hot_shows_the_most_frequent_keys(self):
        with self.daemon.client() as client:
            for key, times in ((b'often', 300), (b'sometimes', 100), (b'rarely\x01', 30)):
                client.send(b'get %s\r\n' % key * times)
                client.barrier()

        def is_there():
            lines = [line.split() for line in self.daemon.admin('hot') if not line.startswith('#')]
            return len(lines) == 3 and lines
        lines = wait_until(is_there, None, 'the keys')
        self.assertEqual([(line[3], line[0]) for line in lines],
                         [('often', '300'), ('sometimes', '100'), ('rarely%01', '30')])

    def test_clients(self):
        clients = [self.daemon.client() for _ in range(7)]
        for client in clients:
            self.addCleanup(client.close)
            client.ask(b'get k\r\n')
        lines = self.daemon.admin('clients')
        own = {':'.join(map(str, client.sock.getsockname())) for client in clients}
        self.assertEqual(own & {line.split()[0] for line in lines}, own)
        self.assertRegex(self.daemon.admin('clients 2')[-1], r'^# \d+ more')

    def test_events_tell_of_reloads(self):
        self.daemon.reload()
        wait_until(lambda: any('reload taken' in line for line in self.daemon.admin('events')), None, 'the event')

    def test_http_on_the_text_port_gets_valid_http_with_current_numbers(self):
        def ask(path):
            with Client(self.daemon.admin_address) as client:
                client.send(b'GET %s HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\n\r\n' % path)
                head, body = client.read_until_closed().split(b'\r\n\r\n', 1)
            self.assertTrue(head.startswith(b'HTTP/1.1 200 OK\r\n'))
            self.assertIn(b'Content-Length: %d' % len(body), head)
            return body
        before = int(re.search(rb'STAT cmd_get (\d+)', ask(b'/')).group(1))
        self.daemon.ask(b'get k\r\n' * 10)
        after = int(re.search(rb'STAT cmd_get (\d+)', ask(b'/')).group(1))
        self.assertEqual(after - before, 10)
        self.assertIn(b'# TYPE ketamad_ticks_total counter', ask(b'/metrics'))

    def test_sessions_that_end_in_the_middle_harm_nobody(self):
        for command in (b'watch', b'clients', b'stats latency', b'locate k'):
            for _ in range(10):
                client = Client(self.daemon.admin_address)
                client.send(command + b'\r\n' + command)
                client.reset()
        self.daemon.ask(b'get k\r\n')
        self.assertTrue(self.daemon.admin_stats())


if __name__ == '__main__':
    main()
