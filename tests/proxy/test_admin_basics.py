"""The first admin port: stats, version, help, quit."""

import os
import re

from harness import (TIME_FACTOR, Client, ProxyTest, free_port, let_pass, main, open_descriptors, proxy_only,
                     wait_until)


def peak_kib(pid):
    """The most memory that a process has had resident."""
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        return int(re.search(r'VmHWM:\s+(\d+)', status.read()).group(1))


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

    def test_many_commands_at_once_are_all_answered(self):
        for command, answer in ((b'version', rb'VERSION .*'), (b'clients', rb'END')):
            with Client(self.daemon.admin_address) as client:
                client.send((command + b'\r\n') * 300)
                client.finish_sending()
                lines = client.read_until_closed().split(b'\r\n')
                self.assertEqual(sum(bool(re.fullmatch(answer, line)) for line in lines), 300, command)

    def test_many_commands_at_once_let_others_have_their_turn(self):
        with Client(self.daemon.admin_address) as many, Client(self.daemon.admin_address) as other:
            other.ask(b'version\r\n')
            many.send(b'servers\r\n' * 400 + b'quit\r\n')
            first = many.read_line()
            self.assertEqual(other.ask(b'eject s1\r\n'), b'OK\r\n')
            answers = (first + many.read_until_closed()).split(b'END\r\n')
        self.assertEqual(len(answers), 401)
        states = [re.search(rb'/s1 \S+ state=(\w+)', answer).group(1) for answer in answers[:-1]]
        self.assertEqual(states[0], b'live')
        self.assertNotEqual(states[-1], b'live')

    def test_answers_that_nobody_takes_end_the_session_before_they_are_all_made(self):
        daemon = self.ketamad(['127.0.%d.1:1 name=s%d' % (i, i) for i in range(200)], pool={'probe_interval': '0'})
        with Client(daemon.admin_address) as client:
            client.send(b'servers\r\n')
            while client.read_line() != b'END\r\n':
                pass
            before = peak_kib(daemon.pid)
            descriptors = open_descriptors(daemon.pid)
            client.send(b'servers\r\n' * 450)  # of which each has an answer of some 40 KiB
            wait_until(lambda: open_descriptors(daemon.pid) < descriptors, None, 'the session to be closed')
        if TIME_FACTOR == 1:  # sanitizers keep freed memory for a while
            self.assertLess(peak_kib(daemon.pid) - before, 14 << 10)

    def test_silent_sessions_make_place_for_another(self):
        watcher = self.client(self.daemon.admin_address)
        watcher.send(b'watch events\r\n')
        sessions = [self.client(self.daemon.admin_address) for _ in range(63)]
        let_pass(5 + 0.5 * TIME_FACTOR)
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
