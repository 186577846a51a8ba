"""Every fault, one after another, under a checking load: nothing wrong, nobody hangs, and only
what was under way to the failing server fails.

FAULT_SECONDS=60 holds each fault that long, FAULT_ROUNDS=5 goes through them so many times.
"""

import os
import signal
import threading
import time

from faults import Process, Relay, Remote
from harness import (TIME_FACTOR, ProxyTest, Timeout, failures, has_admin, let_pass, main, open_descriptors,
                     resident_kib, unittest, wait_until, wrongs)

HOLD = float(os.environ.get('FAULT_SECONDS', '0.3'))
ROUNDS = int(os.environ.get('FAULT_ROUNDS', '1'))
REQUEST_TIMEOUT_MS = 500 * TIME_FACTOR
POOL = {'probe_interval': '100ms', 'probe_timeout': '%dms' % (200 * TIME_FACTOR), 'fall': 2, 'rise': 1,
        'request_timeout': '%dms' % REQUEST_TIMEOUT_MS, 'connect_timeout': '%dms' % (200 * TIME_FACTOR)}
CLIENTS, DEPTH = 50, 2
NO_NETWORK = Remote.whats_missing()


class Pauses(threading.Thread):
    """Watches for moments in which the machine ran nobody: then healthy servers are late, too."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0
        self.ending = threading.Event()
        self.start()

    def run(self):
        before = time.monotonic()
        while not self.ending.wait(0.01):
            now = time.monotonic()
            self.longest = max(self.longest, now - before)
            before = now

    def take(self):
        """The longest since it was last asked, in seconds."""
        longest, self.longest = self.longest, 0
        return longest

    def stop(self):
        self.ending.set()
        self.join()


@unittest.skipUnless(has_admin('servers'), 'no health yet')
class EveryFault(ProxyTest):
    def setUp(self):
        super().setUp()
        signal.setitimer(signal.ITIMER_REAL, (120 + ROUNDS * 8 * (HOLD + 30)) * TIME_FACTOR)

    def begin(self, rejoin):
        self.servers = [Process('s1'), Relay('s2'), self.memcached('s3')]
        self.servers += [] if NO_NETWORK else [Remote('s4')]
        for server in self.servers:
            if server.name != 's3':
                self.start(server)
        self.daemon = self.ketamad(self.servers, pool=dict(POOL, rejoin=rejoin))
        self.load_ = self.load(self.daemon, '--rate', 3000, '--keys', 2000, '--sets', 25, '--deletes', 5, '--noreply', 3,
                               '--pipeline', DEPTH, clients=CLIENTS, seconds=36000)
        wait_until(lambda: self.daemon.admin_sum('^cmd_get$') > 1000, None, 'some load')

    def counts(self):
        counts = self.load_.so_far()
        self.assertEqual(wrongs(counts), {}, counts)
        return counts

    def wait_all_live(self, seconds):
        def all_live():
            return all(one['state'] == 'live' for one in self.daemon.members().values())
        wait_until(all_live, seconds, 'every server to be live')

    @staticmethod
    def failed_between(before, after):
        """{'get': n, 'set': n, 'delete': n, text: n}, where n is not 0."""
        grown = {name: after[name]['failed'] - before[name]['failed'] for name in ('get', 'set', 'delete')}
        grown.update((text, n - before['errors'].get(text, 0)) for text, n in after['errors'].items())
        return {name: n for name, n in grown.items() if n}

    def wait_back(self, server, took):
        try:
            wait_until(lambda: server.ask(b'get k\r\n') and self.daemon.state(server.name) == 'live', 30, 'its return')
        except Timeout as error:
            raise AssertionError('%s; the restart took %.3f s; now it is %s'
                                 % (error, took, self.daemon.members()[server.name])) from error

    def one_fault(self, server, how):
        before = self.counts()
        self.pauses.take()
        began = time.monotonic()
        server.fail(how)
        if how != 'restart':  # that may be over before anybody can tell
            self.daemon.wait_state(server.name, 'ejected')
        took = time.monotonic() - began
        let_pass(0.1)  # answers on their way
        out = self.counts()
        at_first = self.failed_between(before, out)
        if how == 'restart':
            self.wait_back(server, time.monotonic() - began)
        let_pass(HOLD)
        held = self.counts()
        server.heal()
        self.wait_all_live(60 + 2 * HOLD)
        let_pass(0.2)
        healed = self.counts()
        pause = self.pauses.take()
        if pause * 1000 > REQUEST_TIMEOUT_MS / 3:
            print('%s: not judged, the machine paused for %.2f s' % (how, pause))
            return
        self.judge(server, how, took, at_first, self.failed_between(out, held), self.failed_between(held, healed))

    def judge(self, server, how, took, at_first, meanwhile, afterwards):
        story = '%s: at first %s, while it was out %s, at its return %s' % (how, at_first, meanwhile, afterwards)
        under_way = CLIENTS * DEPTH
        is_broken_off = how in ('kill', 'restart', 'refuse')
        if is_broken_off:
            self.assertEqual(at_first.get('get', 0), 0, story)
        deadlines = 1 if is_broken_off else 1 + took * 1000 // REQUEST_TIMEOUT_MS
        if how != 'garbage':  # which fails at once, so each client may see it often
            self.assertLessEqual(at_first.get('get', 0) + at_first.get('set', 0) + at_first.get('delete', 0),
                                 under_way * deadlines, story)
        for text in at_first:
            self.assertRegex(text, '^(get|set|delete)$|^SERVER_ERROR %s: ' % server.name, story)
        if how == 'restart':
            self.assertNotIn('get', meanwhile, story)
        else:
            self.assertEqual(meanwhile, {}, story)
        self.assertEqual(afterwards, {}, story)
        if os.environ.get('FAULT_STORY'):
            print('%6.2f s  %s' % (took, story), flush=True)

    def every_fault(self, rejoin):
        self.begin(rejoin)
        self.pauses = self.start(Pauses())
        first = None
        for _ in range(ROUNDS):
            for server in self.servers:
                for how in getattr(server, 'FAULTS', ()):
                    self.one_fault(server, how)
            first = first or (resident_kib(self.daemon.pid), open_descriptors(self.daemon.pid))
        counts = self.load_.result()
        self.assertEqual(wrongs(counts), {}, counts)
        self.assertEqual(counts['closed'], 0, counts)
        self.assertGreater(counts['hits'], 1000)
        self.assertGreater(failures(counts), 0, 'no fault was felt')
        self.assertLess(counts['slowest_ms'], 2 * REQUEST_TIMEOUT_MS + 2500 * TIME_FACTOR, counts)
        self.assertLessEqual(open_descriptors(self.daemon.pid), first[1] + 10)
        if TIME_FACTOR == 1:
            self.assertLess(resident_kib(self.daemon.pid) - first[0], 8192)
        if os.environ.get('FAULT_STORY'):
            print(rejoin, counts, 'kib', first[0], resident_kib(self.daemon.pid), 'descriptors', first[1],
                  open_descriptors(self.daemon.pid), flush=True)

    def test_with_replay(self):
        self.every_fault('replay')

    def test_with_flush(self):
        self.every_fault('flush')

    @unittest.skipIf(NO_NETWORK, 'skipped: the black hole %s' % NO_NETWORK)
    def test_black_holes_are_among_them(self):
        server = self.start(Remote('s4'))
        with server.client() as client:
            client.ask(b'set k 0 0 1\r\nx\r\n')
            server.fail('black hole')
            client.send(b'get k\r\n')
            let_pass(0.3)
            self.assertFalse(client.has_input())
            server.heal()
            self.assertEqual(client.read_reply(), b'VALUE k 0 1\r\nx\r\nEND\r\n')


if __name__ == '__main__':
    main()
