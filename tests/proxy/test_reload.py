"""Reload (cases 35 and 36): nothing lost, nothing half taken over."""

import ctypes
import os
import re
import signal
import socket
import stat
import subprocess
import threading

from harness import (KETAMAD, Client, ProxyTest, accepts, answer_after, free_port, has_admin, keys_of, main,
                     make_directory, never_answer, open_descriptors, proxy_only, resident_kib, run_tool, unittest,
                     wait_until, wrongs, failures, TIME_FACTOR)


class SlowNames:
    """A name server that says 127.0.0.1 to everything, after a while; preexec makes a daemon ask it."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.asked = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.resolv_conf = os.path.join(make_directory(), 'resolv.conf')
        with open(self.resolv_conf, 'w', encoding='ascii') as conf:
            conf.write('nameserver 127.0.0.1:%d\n' % self.socket.getsockname()[1])
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            question, sender = self.socket.recvfrom(512)
            self.asked += 1
            timer = threading.Timer(self.seconds, self._answer, (question, sender))
            timer.daemon = True
            timer.start()

    def _answer(self, question, sender):
        end = question.index(b'\0', 12) + 5
        is_v4 = question[end - 4:end - 2] == b'\0\1'
        head = question[:2] + b'\x81\x80\0\1' + (b'\0\1' if is_v4 else b'\0\0') + b'\0\0\0\0'
        record = b'\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x7f\0\0\1' if is_v4 else b''
        self.socket.sendto(head + question[12:end] + record, sender)

    def preexec(self):
        new_namespace, private, bind = 0x20000, 0x44000, 0x1000
        libc = ctypes.CDLL(None, use_errno=True)
        if (libc.unshare(new_namespace) or libc.mount(b'none', b'/', None, private, None) or
                libc.mount(self.resolv_conf.encode(), b'/etc/resolv.conf', None, bind, None)):
            raise OSError(ctypes.get_errno(), 'no namespace of its own')


def may_mount():
    try:
        return subprocess.run(['true'], preexec_fn=SlowNames(0).preexec, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


@proxy_only
class ReloadWithNames(ProxyTest):
    def begin(self, seconds):
        if not may_mount():
            raise unittest.SkipTest('no mount namespaces')
        names = SlowNames(seconds)
        servers = [self.memcached('s%d' % i) for i in (1, 2, 3)]
        daemon = self.ketamad(servers[:2], preexec=names.preexec)
        daemon.servers = servers[:2] + ['new.example.com:%d name=s3' % servers[2].port]
        daemon.write_conf()
        return daemon, names

    def test_a_server_added_by_name_is_not_ejected_while_its_name_is_looked_up(self):
        daemon, _ = self.begin(0.1)
        key = keys_of('s3')[0]
        with daemon.client() as client:
            for _ in range(3):
                daemon.admin('reload')
                self.assertEqual(client.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')
                self.assertEqual(client.ask(b'get %s\r\n' % key), b'VALUE %s 0 1\r\nx\r\nEND\r\n' % key)
                self.assertFalse(daemon.log_has('ejected|does not resolve'), daemon.stderr())

    def test_a_name_that_is_not_answered_holds_requests_no_longer_than_a_moment(self):
        daemon, names = self.begin(1000)
        key = keys_of('s3')[0]
        with daemon.client() as client:
            daemon.admin('reload')
            wait_until(lambda: names.asked, None, 'the name to be looked up')
            daemon.wait_state('s3', 'live')
            wait_until(lambda: client.ask(b'set %s 0 0 1\r\nx\r\n' % key) == b'STORED\r\n', 3 * TIME_FACTOR,
                       'others to stand in')
            daemon.wait_state('s3', 'ejected')


@unittest.skipUnless(has_admin('reload'), 'no reload yet')
class Reload(ProxyTest):
    def generation(self, daemon):
        return int(daemon.admin_stats()['topology_generation'])

    def reload_and_wait(self, daemon):
        """SIGHUP, and its end: taken over or refused."""
        before = daemon.admin_stats()
        daemon.reload()
        wait_until(lambda: any(daemon.admin_stats()[name] != before[name] for name in ('reloads', 'reloads_refused')),
                   None, 'the reload')

    def fill(self, daemon, count=1000):
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(count)))
            client.barrier()

    def hits(self, daemon, count=1000):
        with daemon.client() as client:
            client.send(b'get ' + b' '.join(b'k%d' % i for i in range(count)) + b'\r\n')
            return client.barrier().count(b'VALUE')

    def test_a_server_added_takes_its_share_and_no_more(self):
        daemon, _ = self.pool_of(3)
        self.fill(daemon)
        daemon.servers.append(self.memcached('s4'))
        self.reload_and_wait(daemon)
        left = self.hits(daemon)
        self.assertLess(left, 900)
        self.assertGreater(left, 600)
        self.assertEqual(len(daemon.members()), 4)

    def test_a_server_removed_loses_its_own_keys_alone(self):
        daemon, servers = self.pool_of(3)
        self.fill(daemon)
        mine = int(servers[1].stats()['curr_items'])
        daemon.servers.remove(servers[1])
        self.reload_and_wait(daemon)
        self.assertEqual(self.hits(daemon), 1000 - mine)
        self.assertNotIn('s2', daemon.members())

    def test_the_answer_says_what_changed(self):
        daemon, servers = self.pool_of(3)
        text = open(daemon.conf, encoding='utf-8').read()
        edits = (
            (lambda t: t, ['done, generation N; no key moves']),
            (lambda t: t.replace('name=s2', 'name=s2 weight=2'),
             ['pool main: server s2 has weight 2 instead of 1', 'done, generation N; X % of pool main\'s keys move']),
            (lambda t: t.replace('name=s2', 'name=other'),
             ['pool main: server s2 is called other now, which is another one on the ring',
              'done, generation N; X % of pool main\'s keys move']),
            (lambda t: t.replace(servers[1].address, '127.0.0.1:1'),
             ['pool main: server s2 is at 127.0.0.1:1 instead of %s: its keys stay with it, '
              'and a new host begins without them' % servers[1].address, 'done, generation N; no key moves']),
            (lambda t: t.replace('[pool main]', 'max_clients = 77\n[pool main]\nrejoin = flush\nfall = 9'),
             ['pool main: fall changed', 'pool main: rejoin changed', 'max_clients changed',
              'done, generation N; no key moves']),
        )
        for edit, said in edits:
            for now in (edit(text), text):
                with open(daemon.conf, 'w', encoding='utf-8') as file:
                    file.write(now)
                lines = [re.sub(r'generation \d+', 'generation N', re.sub(r'[\d.]+ %', 'X %', line))
                         for line in daemon.admin('reload')]
                if now == edit(text):
                    self.assertEqual([line for line in lines if line != 'OK'], said)
        moved = [line for line in daemon.admin('events') if "pool main's keys move" in line]
        self.assertEqual(len(moved), 4)

    def test_a_new_address_under_an_old_name_moves_no_key(self):
        daemon, servers = self.pool_of(3)
        self.fill(daemon)
        twin = self.memcached('s2')
        daemon.servers[1] = twin
        self.reload_and_wait(daemon)
        for key in keys_of('s2')[:20]:
            self.assertEqual(daemon.ask(b'set %s 0 0 1\r\ny\r\n' % key), b'STORED\r\n')
        self.assertEqual(int(twin.stats()['curr_items']), 20)
        self.assertEqual(self.hits(daemon), 1000 - int(servers[1].stats()['curr_items'])
                         + sum(int(key[1:]) < 1000 for key in keys_of('s2')[:20]))

    def test_permuted_server_lines_are_no_change(self):
        daemon, _ = self.pool_of(3)
        self.fill(daemon)
        daemon.servers.reverse()
        self.reload_and_wait(daemon)
        self.assertEqual(self.hits(daemon), 1000)

    def test_the_answer_says_how_much_moves(self):
        daemon, _ = self.pool_of(3)
        self.assertIn('no key', ' '.join(daemon.admin('reload')))
        daemon.servers.append(self.memcached('s4'))
        daemon.write_conf()
        share = float(daemon.members()['s1']['share'].rstrip('%'))
        answer = ' '.join(daemon.admin('reload'))
        self.assertRegex(answer, r'\d+\.\d+ ?%')
        self.assertLess(float(daemon.members()['s1']['share'].rstrip('%')), share)

    def test_a_broken_file_changes_nothing_and_its_mistakes_are_told(self):
        daemon, _ = self.pool_of(3)
        self.fill(daemon)
        generation = self.generation(daemon)
        refused = int(daemon.admin_stats()['reloads_refused'])
        for text, mistake in ((daemon.render() + 'colour = red\n', 'colour'), ('', 'pool'), ('[pool main]\nlisten\n', ''),
                              (daemon.render().replace('workers = 2', 'workers = many'), 'workers')):
            daemon.write_conf(text)
            answer = '\n'.join(daemon.admin('reload'))
            self.assertIn('ERROR', answer)
            self.assertIn(mistake, answer)
            refused += 1
            self.assertEqual(int(daemon.admin_stats()['reloads_refused']), refused)
            daemon.send_signal(signal.SIGHUP)
            refused += 1
            wait_until(lambda: int(daemon.admin_stats()['reloads_refused']) == refused, None, 'the refusal')
            self.assertEqual(self.hits(daemon), 1000)
        self.assertTrue(daemon.log_has('colour'))
        os.unlink(daemon.conf)
        self.assertIn('ERROR', '\n'.join(daemon.admin('reload')))
        self.assertEqual(self.generation(daemon), generation)
        daemon.write_conf()
        self.reload_and_wait(daemon)
        self.assertEqual(self.hits(daemon), 1000)

    def test_a_name_that_does_not_resolve_leaves_the_others_serving(self):
        daemon, _ = self.pool_of(2)
        self.fill(daemon, 100)
        daemon.servers.append('no-such-host.invalid:11211 name=lost')
        self.reload_and_wait(daemon)
        with daemon.client() as client:
            for name in ('s1', 's2'):
                for key in keys_of(name, ('s1', 's2'))[:5]:
                    self.assertIn(client.ask(b'set %s 0 0 1\r\nx\r\n' % key)[:6], (b'STORED', b'SERVER'))
        self.assertEqual(daemon.process.poll(), None)

    def test_listeners_are_added_and_removed(self):
        daemon, _ = self.pool_of(1)
        second = '127.0.0.1:%d' % free_port()
        with daemon.client() as client:
            daemon.listens.append(second)
            self.reload_and_wait(daemon)
            wait_until(lambda: accepts(second), None, 'the new listener')
            with Client(second) as other:
                self.assertEqual(other.ask(b'get k\r\n'), b'END\r\n')
                del daemon.listens[1]
                self.reload_and_wait(daemon)
                wait_until(lambda: not accepts(second), None, 'the listener to close')
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')

    def test_the_mode_of_a_unix_socket_changes_live(self):
        path = os.path.join(make_directory(), 'socket')
        daemon, _ = self.pool_of(1, listens=['127.0.0.1:%d' % free_port(), 'unix:%s mode=0666' % path])
        for mode, said in (('0600', 'has mode 0600 now'), ('0660', 'has mode 0660 now'), ('', 'keeps mode 0660')):
            daemon.listens[1] = 'unix:%s%s' % (path, mode and ' mode=' + mode)
            daemon.write_conf()
            self.assertIn(said, '\n'.join(daemon.admin('reload')))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), int(mode or '0660', 8))
        self.assertTrue(accepts('unix:' + path))

    def test_limits_and_timeouts_change_live(self):
        server = self.scripted(answer_after(0.3), name='s1')
        daemon = self.ketamad([server], pool={'request_timeout': '100ms', 'fall': 1000})
        with daemon.client() as client:
            self.assertTrue(client.ask(b'get k\r\n').startswith(b'SERVER_ERROR s1: '))
            daemon.pool['request_timeout'] = '%ds' % (5 * TIME_FACTOR)
            daemon.proxy['max_value_size'] = '1k'
            self.reload_and_wait(daemon)
            wait_until(lambda: client.ask(b'get k\r\n') == b'END\r\n', None, 'the new timeout')
            self.assertEqual(client.ask(b'set k 0 0 2000\r\n' + b'x' * 2000 + b'\r\n'),
                             b'SERVER_ERROR object too large for cache\r\n')

    def test_what_cannot_change_live_is_named(self):
        """And stays what it was: it is named at each reload."""
        keys = run_tool([KETAMAD, '--keys'])[1].decode()
        fixed = re.findall(r'^\[proxy\] +(\w+) +\S+ +\S+ +no ', keys, re.M)
        self.assertIn('workers', fixed)
        daemon, _ = self.pool_of(1)
        edits = {'workers': 3, 'user': 'nobody', 'pidfile': '/nowhere/pid', 'log': 'file:/nowhere/log',
                 'http': '127.0.0.1:%d' % free_port()}
        self.assertEqual(sorted(list(edits) + ['admin']), sorted(fixed))
        daemon.proxy = dict(edits)
        text = daemon.render().replace(daemon.admin_address, '127.0.0.1:%d' % free_port())
        for _ in range(3):
            daemon.write_conf(text)
            named = re.findall(r'^(\w+) differs', '\n'.join(daemon.admin('reload')), re.M)
            self.assertEqual(sorted(named), sorted(fixed))
        self.assertEqual(daemon.terminate(), 0)

    def test_unchanged_servers_keep_their_connections(self):
        daemon, servers = self.pool_of(3)
        self.fill(daemon, 300)
        before = [int(server.stats()['total_connections']) for server in servers]
        extra = self.memcached('s4')
        for _ in range(5):
            daemon.servers.append(extra)
            self.reload_and_wait(daemon)
            self.fill(daemon, 300)
            daemon.servers.remove(extra)
            self.reload_and_wait(daemon)
            self.fill(daemon, 300)
        after = [int(server.stats()['total_connections']) for server in servers]
        for one, other in zip(before, after):
            self.assertLessEqual(other - one, 3)  # the stats of this test themselves, a probe's

    def test_a_removed_server_answers_what_it_was_sent(self):
        slow = self.scripted(answer_after(0.4), name='slow')
        slow.items[b'k'] = (b'0', b'kept')
        daemon = self.ketamad([slow], pool={'request_timeout': '%ds' % (5 * TIME_FACTOR)})
        with daemon.client() as client:
            client.send(b'get k\r\n')
            wait_until(lambda: slow.asked(b'get k'), None, 'the request to reach it')
            daemon.servers = [self.memcached('s1')]
            self.reload_and_wait(daemon)
            self.assertEqual(client.read_reply(), b'VALUE k 0 4\r\nkept\r\nEND\r\n')
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')

    def test_many_reloads_under_load_lose_and_leak_nothing(self):
        daemon, servers = self.pool_of(3)
        extra = self.memcached('s4')
        load = self.load(daemon, '--rate', 6000, strict=False)
        wait_until(lambda: daemon.admin_sum('^cmd_get$') > 500, None, 'some load')
        first = None
        rounds = int(os.environ.get("RELOADS", "300")) if TIME_FACTOR == 1 else 40
        for i in range(rounds):
            daemon.servers = list(servers)
            if i % 4 == 1:
                daemon.servers.append(extra)
            elif i % 4 == 2:
                daemon.servers = [servers[0], servers[1].address + ' name=s2 weight=3', servers[2]]
            elif i % 4 == 3:
                daemon.servers = [servers[0], servers[1].address + ' name=renamed', servers[2]]
            self.reload_and_wait(daemon)
            if i == 12:
                first = resident_kib(daemon.pid), open_descriptors(daemon.pid)
        counts = load.result()
        self.assertEqual(wrongs(counts), {})
        self.assertEqual(failures(counts), 0, counts)
        self.assertEqual(counts['closed'], 0)
        self.assertGreater(counts['get']['done'], 500)
        if TIME_FACTOR == 1:
            self.assertLess(resident_kib(daemon.pid) - first[0], 8192)
        self.assertLessEqual(open_descriptors(daemon.pid), first[1] + 20)

    def test_a_storm_of_signals_is_survived(self):
        daemon, _ = self.pool_of(2)
        for _ in range(300):
            daemon.send_signal(signal.SIGHUP)
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')
        wait_until(lambda: int(daemon.admin_stats()['reloads']) > 0, None, 'a reload')


if __name__ == '__main__':
    main()
