"""Stale-free rejoin (case 26, 26a, 26b): what was missed is never read."""

import random
import time

from harness import (ProxyTest, has_admin, keys_of, main, unittest, wait_until, wrongs)

POOL = {'probe_interval': '50ms', 'probe_timeout': '200ms', 'request_timeout': '300ms', 'fall': 2, 'rise': 1,
        'min_live': '0%'}
SAFE = ('replay', 'flush')


def value(key, text):
    return b'VALUE %s 0 %d\r\n%s\r\nEND\r\n' % (key, len(text), text)


@unittest.skipUnless(has_admin('servers'), 'no rejoin yet')
class StaleFreeRejoin(ProxyTest):
    def begin(self, rejoin, **pool):
        self.daemon, self.servers = self.pool_of(3, pool=dict(POOL, rejoin=rejoin, **pool))
        self.client_ = self.client(self.daemon.address)
        self.key = keys_of('s2')[0]
        self.others = keys_of('s2')[1:6]

    def ask(self, request):
        return self.client_.ask(request)

    def store(self, text):
        self.assertEqual(self.ask(b'set %s 0 0 %d\r\n%s\r\n' % (self.key, len(text), text)), b'STORED\r\n')

    def out(self):
        """s2 is cut off, but keeps what it has."""
        self.servers[1].pause()
        self.daemon.wait_state('s2', 'ejected')

    def back(self):
        self.servers[1].resume()
        self.daemon.wait_state('s2', 'live', 30)

    def read(self):
        return self.ask(b'get %s\r\n' % self.key)

    def test_a_write_missed_by_its_server_is_not_stale_afterwards(self):
        for rejoin in SAFE:
            with self.subTest(rejoin=rejoin):
                self.begin(rejoin)
                self.store(b'v1')
                self.out()
                self.store(b'v2')
                self.back()
                self.assertEqual(self.read(), b'END\r\n')
                self.store(b'v3')
                self.assertEqual(self.read(), value(self.key, b'v3'))
                self.out()
                self.assertEqual(self.read(), b'END\r\n', 'v2 of the stand-in')
                self.back()
                self.assertIn(self.read(), (b'END\r\n', value(self.key, b'v3')))

    def test_what_was_not_touched_meanwhile_is_kept_by_replay(self):
        self.begin('replay')
        for key in self.others:
            self.ask(b'set %s 0 0 2\r\nok\r\n' % key)
        self.out()
        self.store(b'v2')
        self.back()
        for key in self.others:
            self.assertEqual(self.ask(b'get %s\r\n' % key), value(key, b'ok'))

    def test_keep_keeps_everything(self):
        self.begin('keep')
        self.store(b'v1')
        self.out()
        self.store(b'v2')
        self.back()
        self.assertEqual(self.read(), value(self.key, b'v1'))

    def test_keep_forgets_no_flush_all(self):
        self.begin('keep')
        for write in (b'flush_all\r\n', b'flush_all noreply\r\n'):
            self.store(b'v1')
            self.out()
            self.client_.send(write)
            self.client_.barrier()
            self.back()
            self.assertEqual(self.read(), b'END\r\n')
            self.store(b'v2')
            self.out()
            self.back()
            self.assertEqual(self.read(), value(self.key, b'v2'), 'flushed once, not every time')

    WRITES = (b'delete %s\r\n', b'set %s 0 0 2 noreply\r\nv2\r\n', b'incr %s 1\r\n', b'decr %s 1\r\n',
              b'append %s 0 0 1\r\nx\r\n', b'prepend %s 0 0 1\r\nx\r\n', b'replace %s 0 0 2\r\nv2\r\n',
              b'add %s 0 0 2\r\nv2\r\n', b'touch %s 100\r\n', b'ms %s 2\r\nv2\r\n', b'md %s\r\n', b'ma %s\r\n',
              b'ms %s 2 q\r\nv2\r\n', b'cas %s 0 0 2 1\r\nv2\r\n', b'delete %s noreply\r\n', b'gat 100 %s\r\n',
              b'incr %s 1 noreply\r\n', b'touch %s 100 noreply\r\n', b'mg %s T100\r\n', b'md %s q\r\n',
              b'set %s 0 0 1048577\r\n' + b'x' * 1048577 + b'\r\n')

    def test_every_kind_of_write_is_remembered(self):
        """Case 26b."""
        for rejoin in SAFE:
            self.begin(rejoin)
            keys = keys_of('s2')[10:10 + len(self.WRITES)]
            for key in keys:
                self.assertEqual(self.ask(b'set %s 0 0 1\r\n5\r\n' % key), b'STORED\r\n')
            self.out()
            for write, key in zip(self.WRITES, keys):
                self.client_.send(write.replace(b'%s', key))
            self.client_.barrier()
            self.back()
            for write, key in zip(self.WRITES, keys):
                self.assertEqual(self.ask(b'get %s\r\n' % key), b'END\r\n', (rejoin, write[:40]))

    def test_a_flush_all_meanwhile_is_remembered(self):
        for rejoin in SAFE:
            for write in (b'flush_all\r\n', b'flush_all noreply\r\n'):
                with self.subTest(rejoin=rejoin, write=write):
                    self.begin(rejoin)
                    self.store(b'5')
                    self.out()
                    self.client_.send(write)
                    self.client_.barrier()
                    self.back()
                    self.assertEqual(self.read(), b'END\r\n')

    def test_base64_writes_are_remembered_by_their_bytes(self):
        import base64
        self.begin('replay')
        self.store(b'v1')
        self.out()
        self.assertEqual(self.ask(b'ms %s 2 b\r\nv2\r\n' % base64.b64encode(self.key)), b'HD\r\n')
        self.back()
        self.assertEqual(self.read(), b'END\r\n')

    def test_a_write_that_timed_out_does_not_come_back(self):
        """Case 26a: the stopped server carries it out when it wakes, after the delete of another client."""
        for rejoin in SAFE:
            with self.subTest(rejoin=rejoin):
                self.begin(rejoin)
                self.store(b'v0')
                self.servers[1].pause()
                reply = self.ask(b'set %s 0 0 2\r\nv1\r\n' % self.key)
                self.daemon.wait_state('s2', 'ejected')
                with self.daemon.client() as other:
                    self.assertIn(other.ask(b'set %s 0 0 2\r\nv2\r\n' % self.key), (b'STORED\r\n',))
                    self.assertEqual(other.ask(b'delete %s\r\n' % self.key), b'DELETED\r\n')
                self.back()
                for _ in range(50):
                    self.assertEqual(self.read(), b'END\r\n', 'the first set was answered %r' % reply)

    def test_a_server_that_restarted_empty_needs_nothing(self):
        self.begin('replay')
        self.store(b'v1')
        self.servers[1].kill()
        self.daemon.wait_state('s2', 'ejected')
        self.store(b'v2')
        self.servers[1].start()
        self.daemon.wait_state('s2', 'live', 30)
        self.assertEqual(self.read(), b'END\r\n')
        self.store(b'v3')
        self.servers[1].kill()
        self.daemon.wait_state('s2', 'ejected')
        self.assertEqual(self.read(), b'END\r\n', 'v2 of the stand-in')

    def test_too_many_writes_to_remember_flush_the_server(self):
        self.begin('replay')
        mine = keys_of('s2')
        self.store(b'v1')
        self.out()
        key = b'x' * 230
        self.client_.timeout = 60
        for start in range(0, 200000, 20000):
            self.client_.send(b''.join(b'delete %s%d noreply\r\n' % (key, i) for i in range(start, start + 20000)))
            self.client_.barrier()
        self.store(b'v2')
        for one in mine[1:50]:
            self.ask(b'delete %s\r\n' % one)
        self.servers[1].resume()
        self.daemon.wait_state('s2', 'live', 60)
        self.assertEqual(self.read(), b'END\r\n')

    def test_however_many_servers_are_out_a_write_is_noted_for_each(self):
        """Those that come before its stand-in in the key's list, which may be nearly all."""
        count = 130
        port = self.memcached(host='0.0.0.0').port  # one process in the place of all
        daemon = self.ketamad(['127.0.0.%d:%d name=s%d' % (n, port, n) for n in range(1, count + 1)],
                              proxy={'workers': 1}, pool={'probe_interval': '0', 'points': 4})
        for n in range(1, count):
            daemon.admin('eject s%d' % n)
        wait_until(lambda: [member['state'] for member in daemon.members().values()].count('ejected') == count - 1,
                   None, 'all but one to be out')
        noted = [0]
        for n in range(30):
            self.assertEqual(daemon.ask(b'set key:%d 0 0 1\r\nv\r\n' % n), b'STORED\r\n')
            noted.append(sum(int(member['to_delete']) for member in daemon.members().values()))
        longest = max(after - before for before, after in zip(noted, noted[1:]))
        self.assertGreater(longest, 64, 'some key has more of them before the one that is left')

    def test_random_histories_never_read_an_old_value(self):
        """Sets, deletes, ejections and rejoins in any order, against a model."""
        for rejoin in SAFE:
            for seed in range(3):
                self.history(rejoin, seed)
                self.doCleanups()
                self.setUp()

    def history(self, rejoin, seed):
        choose = random.Random('%s %d' % (rejoin, seed))
        self.begin(rejoin)
        keys = [key for name in ('s1', 's2', 's3') for key in keys_of(name)[:5]]
        model = {}  # key: the last version acknowledged
        issued = {}
        down = set()
        trace = []
        for step in range(250):
            key = choose.choice(keys)
            action = choose.random()
            if action < 0.05 and len(down) < 2:
                at = choose.choice([i for i in range(3) if i not in down])
                down.add(at)
                trace.append('out s%d' % (at + 1))
                self.servers[at].pause()
                self.daemon.wait_state('s%d' % (at + 1), 'ejected')
            elif action < 0.10 and down:
                at = down.pop()
                trace.append('back s%d' % (at + 1))
                self.servers[at].resume()
                self.daemon.wait_state('s%d' % (at + 1), 'live', 30)
            elif action < 0.40:
                issued[key] = version = issued.get(key, 0) + 1
                reply = self.ask(b'set %s 0 0 %d\r\n%d\r\n' % (key, len(str(version)), version))
                trace.append('set %s %d: %s' % (key, version, reply))
                if reply == b'STORED\r\n':
                    model[key] = version
            elif action < 0.50:
                issued[key] = version = issued.get(key, 0) + 1
                reply = self.ask(b'delete %s\r\n' % key)
                trace.append('delete %s (%d): %s' % (key, version, reply))
                if reply in (b'DELETED\r\n', b'NOT_FOUND\r\n'):
                    model[key] = version
            else:
                reply = self.ask(b'get %s\r\n' % key)
                trace.append('get %s: %s' % (key, reply))
                if reply.startswith(b'VALUE'):
                    got = int(reply.split(b'\r\n')[1])
                    self.assertGreaterEqual(got, model.get(key, 0), '%s seed %d:\n%s' % (
                        rejoin, seed, '\n'.join(line for line in trace if str(key) in line or ' s' in line)))
                else:
                    self.assertFalse(reply.startswith(b'CLIENT'), reply)
        for at in down:
            self.servers[at].resume()

    def test_replay_is_seen_on_the_admin_port(self):
        self.begin('replay')
        self.out()
        for key in keys_of('s2')[:40]:
            self.ask(b'set %s 0 0 1\r\nx\r\n' % key)
        self.back()
        self.assertGreaterEqual(int(self.daemon.members()['s2']['replayed']), 40)

    def test_under_a_checking_load_nothing_is_stale(self):
        for rejoin in SAFE:
            self.begin(rejoin)
            load = self.load(self.daemon, '--keys', 500, '--rate', 5000, '--deletes', 10, '--sets', 30)
            wait_until(lambda: self.daemon.admin_sum('^cmd_get$') > 500, None, 'some load')
            for at in (1, 2, 1, 0):
                self.servers[at].pause()
                self.daemon.wait_state('s%d' % (at + 1), 'ejected')
                begin = time.monotonic()
                wait_until(lambda: time.monotonic() - begin > 0.3, None, 'writes meanwhile')
                self.servers[at].resume()
                self.daemon.wait_state('s%d' % (at + 1), 'live', 30)
            begin = time.monotonic()
            wait_until(lambda: time.monotonic() - begin > 0.5, None, 'reads afterwards')
            counts = load.result()
            self.assertEqual(wrongs(counts), {}, '%s: %s' % (rejoin, counts))
            self.doCleanups()
            self.setUp()


if __name__ == '__main__':
    main()
