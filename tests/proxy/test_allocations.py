"""Each allocation fails once: at start, while serving, at a reload, at an ejection, on the admin port.

FAULTS=all tries every one of them, which takes minutes; else one in a few, others each time.
"""

import http.client
import os
import random
import re
import signal
import unittest

from faults import Faults, usable
from harness import (DEADLINE, TIME_FACTOR, Client, Ketamad, ProxyTest, accepts, end_process, free_port, main, proxy_only,
                     wait_until)

ALL = os.environ.get('FAULTS') == 'all'
ERROR = rb'SERVER_ERROR [^\r\n]+\r\n'


def numbers(count, step):
    """Those to try of 1 to count: all, or one in step and the last ones."""
    if ALL:
        return list(range(1, count + 1))
    return list(range(random.randint(1, step), count + 1, step))


class FaultsTest(ProxyTest):
    def setUp(self):
        super().setUp()
        self.faults = Faults()

    def faulty(self, servers, **options):
        """The daemon, with faults at hand, and nothing armed."""
        self.faults.clear()
        daemon = self.ketamad(servers, environment=self.faults.environment(), **options)
        self.wait_started(daemon)
        return daemon

    @staticmethod
    def wait_started(daemon, times=1):
        """Its backlog takes clients before it does."""
        wait_until(lambda: daemon.stderr().count(' serving 1 pool') == times, None, 'the start to be over')

    def allocations_of(self, action):
        """How many allocations an action takes, in all threads."""
        self.faults.rule('allocate')
        action()
        return self.faults.count('allocate', 'calls')


@proxy_only
@usable
class AllocationsAtStart(FaultsTest):
    """It starts and serves, or says why not in a sentence and exits with 1."""

    def begin(self, servers, **rule):
        self.faults.clear()
        self.faults.rule('allocate', **rule)
        daemon = Ketamad(servers, environment=self.faults.environment(), wait=False, text=self.text(servers))
        try:
            wait_until(lambda: daemon.process.poll() is not None or daemon.log_has('serving 1 pool'), None,
                       'ketamad to start or to exit, with %s' % rule)
            count, failed = self.faults.count('allocate', 'calls'), self.faults.count('allocate')
            self.faults.clear()
            self.judge(daemon, rule)
            return count, failed
        finally:
            end_process(daemon.process)

    @staticmethod
    def text(servers):
        return ('[proxy]\nadmin = {admin}\nhttp = 127.0.0.1:%d\nworkers = 2\npidfile = {dir}/pid\nlog = stderr\n'
                '[pool main]\nlisten = {listen}\nlisten = unix:{dir}/socket\nserver = %s name=s1\nserver = %s name=s2\n'
                % (free_port(), servers[0].address, servers[1].address))

    def judge(self, daemon, rule):
        last = (daemon.stderr().splitlines() or [''])[-1]
        if daemon.process.poll() is not None:
            self.assertEqual(daemon.process.returncode, 1, '%s: %s' % (rule, daemon.stderr()))
            self.assertRegex(last, r'memory|cannot|unavailable', rule)
            return
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n', rule)
        self.assertIn('topology_generation 1', '\n'.join(daemon.admin('stats')), rule)
        self.assertEqual(daemon.terminate(), 0, '%s: %s' % (rule, daemon.stderr()))

    def test_one_that_fails(self):
        servers = [self.memcached('s1'), self.memcached('s2')]
        count, _ = self.begin(servers)
        for n in numbers(count, 7):
            self.begin(servers, at=n)

    def test_all_that_fail_from_one_on(self):
        servers = [self.memcached('s1'), self.memcached('s2')]
        count, _ = self.begin(servers)
        for n in numbers(count, 15):
            self.begin(servers, from_=n)


class Values:
    """A reply to a get of these keys: each once at most, in this order, with its own value."""

    def __init__(self, *items):
        self.items = items

    def fits(self, reply):
        for key, value in self.items:
            head, size = b'VALUE %s 0 ' % key, b'%d' % len(value)
            if reply.startswith(head):
                line, rest = reply.split(b'\r\n', 1)
                if line[len(head):].split()[0] != size or not rest.startswith(value + b'\r\n'):
                    return False
                reply = rest[len(value) + 2:]
        return reply == b'END\r\n'


class Like:
    def __init__(self, pattern):
        self.pattern = pattern

    def fits(self, reply):
        return re.fullmatch(self.pattern, reply, re.DOTALL)


def every_kind(serial):
    """(request, what its reply may be beside an error); None: there is no reply."""
    def item(i, size=20):
        return b'k%d-%d' % (i, serial), (b'value %d of %d,' % (i, serial)).ljust(size, b'.')
    one, two, large, number, meta = item(1), item(2), item(3, 100000), b'k4-%d' % serial, item(5)
    stored = Like(rb'STORED\r\n|NOT_STORED\r\n|EXISTS\r\n|NOT_FOUND\r\n')
    short = Like(rb'(?:HD|EN|NF|NS|EX)( O%d)?\r\n' % serial)
    many = [item(i) for i in range(20, 44)]
    return [(b'set %s 0 0 20\r\n%s\r\n' % some, stored) for some in (one, two)] + [
        (b'set %s 0 0 20 noreply\r\n%s\r\n' % some, None) for some in many] + [
        (b'get %s\r\n' % one[0], Values(one)),
        (b'gets %s\r\n' % two[0], Values(two)),
        (b'get %s\r\n' % b' '.join(key for key, _ in many), Values(*many)),
        (b'gat 100 %s %s\r\n' % (many[0][0], many[1][0]), Values(*many[:2])),
        (b'set %s 0 0 100000\r\n%s\r\n' % large, stored),
        (b'get %s\r\n' % large[0], Values(large)),
        (b'get %s %s %s\r\n' % (large[0], one[0], two[0]), Values(large, one, two)),
        (b'add %s 0 0 1\r\n1\r\n' % number, stored),
        (b'replace %s 0 0 1\r\n2\r\n' % number, stored),
        (b'incr %s 5\r\n' % number, Like(rb'[1-9]\d*\r\n|NOT_FOUND\r\n')),
        (b'decr %s 1\r\n' % number, Like(rb'\d+\r\n|NOT_FOUND\r\n')),
        (b'append %s 0 0 1\r\n3\r\n' % number, stored),
        (b'prepend %s 0 0 1\r\n4\r\n' % number, stored),
        (b'cas %s 0 0 1 99999999\r\n5\r\n' % number, stored),
        (b'touch %s 100\r\n' % number, Like(rb'TOUCHED\r\n|NOT_FOUND\r\n')),
        (b'delete %s\r\n' % number, Like(rb'DELETED\r\n|NOT_FOUND\r\n')),
        (b'ms %s 20 O%d\r\n%s\r\n' % (meta[0], serial, meta[1]), short),
        (b'mg %s v O%d\r\n' % (meta[0], serial), Like(rb'EN\r\n|VA 20 O%d\r\n%s\r\n' % (serial, re.escape(meta[1])))),
        (b'mg %s q v\r\n' % b'none', None),
        (b'ma k7 O%d N0\r\n' % serial, short),
        (b'me %s\r\n' % meta[0], Like(rb'(?:ME %s [^\r\n]*|EN)\r\n' % meta[0])),
        (b'md %s O%d\r\n' % (meta[0], serial), short),
        (b'mn\r\n', Like(rb'MN\r\n')),
        (b'nonsense\r\n', Like(rb'ERROR\r\n')),
        (b'set k8 0 0 1100000\r\n%s\r\n' % (b'x' * 1100000), Like(rb'SERVER_ERROR object too large for cache\r\n')),
        (b'version\r\n', Like(rb'VERSION [\d.]+\r\n')),
        (b'verbosity 1\r\n', Like(rb'OK\r\n')),
        (b'stats\r\n', Like(rb'(?:STAT \S+ [^\r\n]*\r\n)+END\r\n')),
        (b'flush_all 1000\r\n', Like(rb'OK\r\n')),
    ]


@proxy_only
@usable
class AllocationsWhileServing(FaultsTest):
    """One connection pays, by an error line or a close; every other answer is the right one."""

    def setUp(self):
        super().setUp()
        self.servers = [self.memcached('s1'), self.memcached('s2')]
        self.daemon = self.faulty(self.servers)
        self.serial = 0
        self.witness = self.client(self.daemon.address)

    def walk(self, steps, pipelined):
        """Asks everything on one connection; returns whether it lived."""
        with self.daemon.client() as client:
            try:
                if pipelined:
                    client.send(b''.join(request for request, _ in steps))
                for request, reply in steps:
                    if not pipelined:
                        client.send_pieces(request, max(1, len(request) // 2))
                    if reply is not None:
                        got = client.read_reply()
                        if not reply.fits(got) and not re.fullmatch(ERROR, got):
                            self.fail('%r got %r' % (request[:200], got[:300]))
                return True
            except (EOFError, ConnectionError):
                return False

    def is_unharmed(self):
        """The other client and the servers are as before."""
        key = b'w%d' % self.serial
        reply = self.witness.ask(b'set %s 0 0 3\r\nyes\r\n' % key)
        if reply != b'STORED\r\n':
            self.assertRegex(reply, ERROR)
            return False
        reply = self.witness.ask(b'get %s\r\n' % key)
        if reply != b'VALUE %s 0 3\r\nyes\r\nEND\r\n' % key:
            self.assertRegex(reply, ERROR)
            return False
        return True

    def try_one(self, pipelined, **rule):
        self.serial += 1
        steps = every_kind(self.serial)
        self.faults.rule('allocate', **rule)
        try:
            lived = self.walk(steps, pipelined)
            self.assertTrue(lived or self.faults.count('allocate') > 0, rule)
        except AssertionError as error:
            raise AssertionError('with %s: %s' % (rule, error)) from None
        finally:
            failed = self.faults.count('allocate')
            self.faults.rule('allocate')
        self.assertIsNone(self.daemon.process.poll(), 'with %s: %s' % (rule, self.daemon.stderr()))
        wait_until(self.is_unharmed, None, 'the other client to be served, after %s' % rule)
        return failed

    def test_one_that_fails(self):
        for pipelined in (True, False):
            n = random.randint(1, 1 if ALL else 5)
            while self.try_one(pipelined, at=n):
                n += 1 if ALL else 5
        self.settle()

    def test_each_of_a_fresh_process(self):
        """Where nothing is kept for reuse yet."""
        count = self.allocations_of(lambda: self.walk(every_kind(0), True))
        for starts, n in enumerate(numbers(count, 40), 2):
            self.assertEqual(self.daemon.terminate(), 0, self.daemon.stderr())
            self.faults.clear()
            self.daemon.start()
            self.wait_started(self.daemon, starts)
            self.witness = self.client(self.daemon.address)
            self.try_one(True, at=n)

    def test_all_that_fail_from_one_on_and_then_none(self):
        for n in numbers(60, 12):
            self.try_one(n % 2 == 0, from_=n)
        self.settle()

    def test_some_at_random(self):
        for share in (0.01, 0.1, 0.5):
            for _ in range(20 if ALL else 3):
                self.faults.set('seed', random.getrandbits(30))
                self.try_one(True, share=share)
        self.settle()

    def settle(self):
        """No server was blamed for it, and memory is not kept."""
        for name in ('s1', 's2'):
            self.daemon.wait_state(name, 'live')
        self.assertEqual(int(self.daemon.admin_stats()['ejections']), 0)


if __name__ == '__main__':
    main()
