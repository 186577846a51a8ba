"""The first admin port: stats, version, help, quit."""

import os

from harness import Client, ProxyTest, free_port, let_pass, main, proxy_only, wait_until


@proxy_only
class AdminPort(ProxyTest):
    def setUp(self):
        super().setUp()
        self.daemon, self.servers = self.pool_of(2)

    def test_version_and_help(self):
        text = '\n'.join(self.daemon.admin('version'))
        self.assertRegex(text, r'\d+\.\d+')
        text = '\n'.join(self.daemon.admin('help'))
        for word in ('stats', 'version', 'help', 'quit'):
            self.assertIn(word, text)

    def test_stats_count_what_was_done(self):
        with self.daemon.client() as client:
            client.send(b'set k 0 0 1\r\nx\r\nget k\r\nget nope\r\ndelete k\r\n' * 25)
            client.barrier()
        stats = wait_until(self.daemon.admin_stats, None, 'stats')
        for name, value in (('cmd_get', 50), ('cmd_set', 25), ('get_hits', 25), ('get_misses', 25)):
            self.assertIn(name, stats)
            self.assertEqual(int(stats[name]), value, name)

    def test_several_commands_on_one_connection_and_quit(self):
        with Client(self.daemon.admin_address) as client:
            client.send(b'version\r\nstats\r\nhelp\r\nquit\r\n')
            text = client.read_until_closed()
        self.assertIn(b'STAT ', text)
        self.assertIn(b'help', text)

    def test_bad_input_gets_one_clear_line(self):
        for line in (b'nonsense\r\n', b'\r\n', b'stats nosuchgroup\r\n', b'\x80\x81\r\n', b'x' * 1000 + b'\r\n'):
            with Client(self.daemon.admin_address) as client:
                client.send(line)
                self.assertRegex(client.read_line(), rb'^\w*ERROR')
                client.send(b'version\r\n')
                self.assertRegex(client.read_line(), rb'\d+\.\d+')

    def test_an_endless_line_is_cut_off(self):
        with Client(self.daemon.admin_address) as client:
            try:
                for _ in range(200):
                    client.send(b'x' * 10000)
            except OSError:
                pass
            client.read_until_closed()
        self.assertEqual(self.daemon.ask(b'get k\r\n'), b'END\r\n')

    def test_an_admin_client_that_hangs_or_leaves_harms_nobody(self):
        hanging = [self.client(self.daemon.admin_address) for _ in range(10)]
        for client in hanging:
            client.send(b'sta')
        for _ in range(50):
            client = Client(self.daemon.admin_address)
            client.send(b'stats\r\n')
            client.reset()
        self.assertEqual(self.daemon.ask(b'get k\r\n'), b'END\r\n')
        self.assertTrue(self.daemon.admin_stats())

    def test_silent_sessions_make_place_for_another(self):
        watcher = self.client(self.daemon.admin_address)
        watcher.send(b'watch events\r\n')
        sessions = [self.client(self.daemon.admin_address) for _ in range(63)]
        let_pass(5.5)
        sessions[0].send(b'version\r\n')
        self.assertTrue(sessions[0].read_line())
        for _ in range(3):
            self.assertTrue(self.daemon.admin('version'))
        self.assertEqual(sessions[1].read_until_closed(), b'')
        sessions[0].send(b'version\r\n')
        self.assertTrue(sessions[0].read_line())

    def test_a_session_too_many_is_told_so(self):
        sessions = [self.client(self.daemon.admin_address) for _ in range(64)]
        for client in sessions:
            client.send(b'version\r\n')
            client.read_line()
        with Client(self.daemon.admin_address) as client:
            client.send(b'version\r\n')
            self.assertRegex(client.read_until_closed(), rb'^ERROR .*64.*\r\n$')
        sessions[0].close()
        wait_until(lambda: self.daemon.admin('version')[0].startswith('VERSION'), None, 'a place')

    def test_it_may_listen_on_a_unix_socket(self):
        path = os.path.join(self.temporary_directory(), 'admin.sock')
        daemon = self.ketamad(self.servers, proxy={}, text='[proxy]\nadmin = unix:%s\nworkers = 1\n[pool main]\nlisten = {listen}\nserver = %s\n'
                              % (path, self.servers[0].address))
        daemon.admin_address = 'unix:' + path
        self.assertTrue(daemon.admin_stats())


if __name__ == '__main__':
    main()
