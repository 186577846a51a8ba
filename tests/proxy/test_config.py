"""The configuration and the command line (case 39)."""

import os
import re
import signal

from harness import (AGAINST_MEMCACHED, KETAMAD, ProxyTest, accepts, end_process, free_port, main, proxy_only,
                     run_tool, spawn, unittest, wait_until)

GOOD = '[proxy]\nworkers = 1\n\n[pool main]\nlisten = 127.0.0.1:21211\nserver = 127.0.0.1:21212\n'


@unittest.skipIf(AGAINST_MEMCACHED or not os.access(KETAMAD, os.X_OK), 'no daemon')
class CheckingAFile(ProxyTest):
    def check(self, text):
        """(exit code, everything printed, the file's path) of ketamad -t."""
        path = os.path.join(self.temporary_directory(), 'ketama.conf')
        with open(path, 'w', encoding='utf-8') as conf:
            conf.write(text)
        code, out, err = run_tool([KETAMAD, '-t', '-c', path])
        return code, (out + err).decode(), path

    def mistakes(self, text):
        code, printed, path = self.check(text)
        self.assertEqual(code, 1, printed)
        return [line[len(path) + 1:] for line in printed.splitlines() if line.startswith(path + ':')]

    def test_a_good_file_is_good(self):
        code, printed, _ = self.check(GOOD)
        self.assertEqual(code, 0, printed)

    def test_every_kind_of_mistake_names_its_line_and_key(self):
        for line, key in (('workers = many', 'workers'), ('workers = -1', 'workers'), ('workers = 100000', 'workers'),
                          ('wrokers = 2', 'wrokers'), ('max_value_size = 1q', 'max_value_size'),
                          ('max_value_size = ', 'max_value_size'), ('max_clients = 0', 'max_clients'),
                          ('drain_timeout = 5', 'drain_timeout'), ('drain_timeout = 5 parsecs', 'drain_timeout'),
                          ('log_level = loud', 'log_level'), ('log = telegram', 'log'), ('admin = nowhere', 'admin'),
                          ('client_idle_timeout = -1s', 'client_idle_timeout'), ('max_memory = 99999999999999999999', 'max_memory')):
            with self.subTest(line=line):
                found = self.mistakes('[proxy]\n%s\n\n%s' % (line, GOOD.split('\n\n')[1]))
                self.assertTrue(any(one.startswith('2: %s: ' % key) for one in found), found)
        for line, key in (('connections = 0', 'connections'), ('connections = x', 'connections'), ('listen = 127.0.0.1', 'listen'),
                          ('listen = 127.0.0.1:99999', 'listen'), ('server = 127.0.0.1:x', 'server'),
                          ('server = 127.0.0.1:11213 weight=0', 'server'), ('server = 127.0.0.1:11213 weight=-1', 'server'),
                          ('server = 127.0.0.1:11213 colour=red', 'server'), ('server = 127.0.0.1:11213 name=', 'server'),
                          ('placement = guesswork', 'placement'), ('placement = ketama:nobody', 'placement'),
                          ('hash_tag = {', 'hash_tag'), ('hash_tag = {}x', 'hash_tag'), ('request_timeout = 0', 'request_timeout'),
                          ('request_timeout = soon', 'request_timeout'), ('connect_timeout = 1', 'connect_timeout'),
                          ('allow_flush = perhaps', 'allow_flush'), ('points = -5', 'points'), ('colour = red', 'colour'),
                          ('key_hash = rot13', 'key_hash'), ('server = 127.0.0.1:21212', 'server')):
            with self.subTest(line=line):
                found = self.mistakes(GOOD + line + '\n')
                self.assertTrue(any(one.startswith('7: %s: ' % key) for one in found), found)

    def test_a_mistake_says_what_is_allowed(self):
        for line in ('workers = many', 'log_level = loud', 'drain_timeout = 5 parsecs'):
            found = self.mistakes('[proxy]\n%s\n\n%s' % (line, GOOD.split('\n\n')[1]))
            self.assertEqual(len(found), 1, found)
            self.assertGreater(len(found[0]), len('2: workers: ') + 20, found)

    def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(self):
        found = self.mistakes('[proxy]\nworkers = many\nwrokers = 2\nlog_level = loud\n\n[pool main]\nlisten = x\n'
                              'server = 127.0.0.1:99999\nfoo = bar\n')
        lines = [int(one.split(':')[0]) for one in found]
        self.assertEqual(lines, sorted(lines))
        self.assertEqual(set(lines) & {2, 3, 4, 7, 8, 9}, {2, 3, 4, 7, 8, 9}, found)

    def test_a_repeated_key_is_a_mistake_unless_it_may_repeat(self):
        found = self.mistakes('[proxy]\nworkers = 1\nworkers = 2\n\n' + GOOD.split('\n\n')[1])
        self.assertTrue(any(one.startswith('3: workers: ') for one in found), found)
        code, printed, _ = self.check(GOOD + 'listen = 127.0.0.1:21213\nserver = 127.0.0.1:21214\n')
        self.assertEqual(code, 0, printed)

    def test_missing_parts_are_told(self):
        for text in ('', '[proxy]\nworkers = 1\n', '[pool main]\nlisten = 127.0.0.1:21211\n',
                     '[pool main]\nserver = 127.0.0.1:21212\n'):
            with self.subTest(text=text):
                code, printed, path = self.check(text)
                self.assertEqual(code, 1)
                self.assertIn(path, printed)

    def test_sections_and_lines_that_are_none(self):
        for text, number in (('[what]\nx = 1\n' + GOOD, 1), (GOOD + '[pool main]\nlisten = 127.0.0.1:1\nserver = 127.0.0.1:2\n', 7),
                             (GOOD + 'just words\n', 7), ('x = 1\n' + GOOD, 1), (GOOD + '[pool]\n', 7)):
            with self.subTest(text=text[:30]):
                found = self.mistakes(text)
                self.assertTrue(any(re.match(r'%d: ' % number, one) or one.startswith('%d:' % (number + 1)) for one in found),
                                found)

    def test_two_servers_of_one_name_are_a_mistake(self):
        found = self.mistakes(GOOD + 'server = 127.0.0.1:21213 name=a\nserver = 127.0.0.1:21214 name=a\n')
        self.assertTrue(any(one.startswith('8: server: ') for one in found), found)

    def test_comments_blanks_units_and_addresses(self):
        code, printed, _ = self.check(
            '; a comment\n[proxy]\n  admin = unix:/nonexistent/admin.sock ; behind a value\nworkers = auto\n'
            'max_value_size = 2m\nmax_memory = 1g\nclient_idle_timeout = 90s\ndrain_timeout = 1500ms\n\n'
            '[pool a]\nlisten = [::1]:21211\nlisten = unix:/nonexistent/a.sock mode=0660\nplacement = ketama\n'
            'server = localhost:21212 name=one weight=2 zone=a\nserver = [::1]:21213\nserver = unix:/nonexistent/mc.sock\n'
            '[pool b]\nlisten = 127.0.0.1:21214\nprefix = b:\nserver = 127.0.0.1:21212\n')
        self.assertEqual(code, 0, printed)

    def test_a_file_that_is_not_there(self):
        code, out, err = run_tool([KETAMAD, '-t', '-c', '/nonexistent/ketama.conf'])
        self.assertEqual(code, 1)
        self.assertIn(b'/nonexistent/ketama.conf', out + err)

    def test_starting_with_a_mistake_says_it_and_exits_with_1(self):
        daemon = self.ketamad(text=GOOD + 'colour = red\n', wait=False)
        daemon.expected_exit = 1
        self.assertEqual(daemon.process.wait(10), 1)
        self.assertIn('%s:7: colour: ' % daemon.conf, daemon.stderr())


@unittest.skipIf(AGAINST_MEMCACHED or not os.access(KETAMAD, os.X_OK), 'no daemon')
class CommandLine(ProxyTest):
    def test_keys_help_and_version_are_printed(self):
        code, out, _ = run_tool([KETAMAD, '--keys'])
        self.assertEqual(code, 0)
        for key in (b'workers', b'listen', b'server', b'max_value_size', b'request_timeout', b'placement'):
            self.assertIn(key, out)
        code, out, _ = run_tool([KETAMAD, '-V'])
        self.assertEqual(code, 0)
        self.assertRegex(out, rb'\d+\.\d+')
        code, out, _ = run_tool([KETAMAD, '-h'])
        self.assertEqual(code, 0)
        for word in (b'-c', b'-t', b'--keys', b'--listen', b'--server'):
            self.assertIn(word, out)

    def test_words_it_does_not_know_are_refused_with_a_usage_line(self):
        for words in (['--nonsense'], ['-c'], ['extra'], []):
            code, out, err = run_tool([KETAMAD] + words)
            self.assertNotEqual(code, 0, words)
            self.assertTrue(out + err, words)

    def run_daemon(self, words):
        process = spawn([KETAMAD] + words)
        self.addCleanup(end_process, process)
        return process

    def test_listen_and_server_make_a_pool_without_a_file(self):
        servers = [self.memcached() for _ in range(2)]
        listen = '127.0.0.1:%d' % free_port()
        process = self.run_daemon(['--listen', listen, '--server', servers[0].address, '--server', servers[1].address])
        wait_until(lambda: accepts(listen), None, 'it to listen')
        client = self.client(listen)
        client.send(b''.join(b'set k%d 0 0 1\r\nx\r\n' % i for i in range(100)))
        self.assertEqual(client.barrier(), b'STORED\r\n' * 100)
        self.assertEqual(sum(int(server.stats()['curr_items']) for server in servers), 100)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(10), 0)

    def test_the_pidfile_is_written_and_removed(self):
        daemon, _ = self.pool_of(1)
        pidfile = os.path.join(daemon.directory, 'pid')
        other = self.ketamad(daemon.servers, proxy={'pidfile': pidfile})
        wait_until(lambda: os.path.exists(pidfile), None, 'the pid file')  # listens before
        with open(pidfile, encoding='ascii') as text:
            self.assertEqual(int(text.read()), other.pid)
        self.assertEqual(other.terminate(), 0)
        self.assertFalse(os.path.exists(pidfile))

    def test_a_log_file_is_opened_anew_on_sigusr1(self):
        daemon, _ = self.pool_of(1)
        log = os.path.join(daemon.directory, 'log')
        other = self.ketamad(daemon.servers, proxy={'log': 'file:' + log, 'log_level': 'info'})
        wait_until(lambda: os.path.exists(log) and os.path.getsize(log) > 0, None, 'a line in the log')
        os.rename(log, log + '.1')
        other.send_signal(signal.SIGUSR1)
        wait_until(lambda: os.path.exists(log), None, 'the new log file')
        self.assertEqual(other.ask(b'get k\r\n'), b'END\r\n')
        self.assertEqual(other.terminate(), 0)
        wait_until(lambda: os.path.getsize(log) > 0, None, 'a line in the new log')


if __name__ == '__main__':
    main()
