"""Each allocation fails once: at start, while serving, at a reload, at an ejection, on the admin port.

FAULTS=all tries every one of them, which takes minutes; else one in a few, others each time.
"""

import os
import random
import re
import signal
import time

from injected import Faults, usable
from harness import (DEADLINE, TIME_FACTOR, Client, Ketamad, ProxyTest, accepts, end_process, free_port, keys_of, main,
                     proxy_only, Timeout, unittest, wait_until)

ALL = os.environ.get('FAULTS') == 'all'
ERROR = rb'SERVER_ERROR [^\r\n]+\r\n'


def numbers(count, step):
    """Those to try of 1 to count: all, or one in step and the last ones."""
    if ALL:
        return list(range(1, count + 1))
    return list(range(random.randint(1, step), count + 1, step))


class FaultsTest(ProxyTest):
    def other_client(self):
        """One that nothing that fails later is for: it is in, and served."""
        client = self.client(self.daemon.address)
        self.assertEqual(client.ask(b'get w\r\n'), b'END\r\n')
        return client

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

    @unittest.skipIf(os.environ.get('VARIANT') == 'coverage', 'what counts lines needs memory to write them down')
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
        (b'mg %s v O%d\r\n' % (meta[0], serial), Like(rb'EN(?: O\d+)?\r\n|VA 20 O%d\r\n%s\r\n' % (serial, re.escape(meta[1])))),
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
        self.witness = self.other_client()

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
            self.witness = self.other_client()
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


@proxy_only
@usable
class AllocationsAtReload(FaultsTest):
    """It is taken whole or refused whole, and a client of before is served all the while."""

    def setUp(self):
        super().setUp()
        self.servers = [self.memcached('s%d' % i) for i in (1, 2, 3)]
        self.daemon = self.faulty(self.servers[:2])
        self.listens = self.daemon.listens
        self.more = ['127.0.0.1:%d' % free_port()]
        self.witness = self.other_client()
        self.counts = (0, 0)

    def reload(self, is_large):
        """Reloads one or the other configuration; returns whether it was taken."""
        self.daemon.servers = self.servers if is_large else self.servers[:2]
        self.daemon.listens = self.listens + self.more if is_large else self.listens
        self.daemon.pool = {'connections': 2 if is_large else 1}
        before = len(self.daemon.stderr())
        taken, refused = self.counts
        self.daemon.reload()
        began = time.monotonic()

        def is_over():
            if re.search(r'reload: (done|failed)', self.daemon.stderr()[before:]):
                return True
            if time.monotonic() - began < 0.3 * TIME_FACTOR:
                return False
            self.faults.rule('allocate')  # its line was held back, as one of too many
            return self.read_counts() != (taken, refused)
        wait_until(is_over, None, 'the reload to be over')
        self.faults.rule('allocate')
        self.counts = self.read_counts()
        self.assertEqual(sum(self.counts), taken + refused + 1)
        return self.counts[0] > taken

    def count(self):
        """How many allocations a reload takes, about."""
        self.reload(True)
        self.reload(False)
        self.daemon.servers, self.daemon.listens = self.servers, self.listens + self.more
        self.faults.rule('allocate')
        before = len(self.daemon.stderr())
        self.daemon.reload()
        wait_until(lambda: 'reload: done' in self.daemon.stderr()[before:], None, 'the reload to be over')
        count = self.faults.count('allocate', 'calls')
        self.counts = self.read_counts()
        return count

    def read_counts(self):
        stats = self.daemon.admin_stats()
        return int(stats['reloads']), int(stats['reloads_refused'])

    def check(self, is_large, rule):
        """Everything is as the one configuration says, by and by in what waited for memory."""
        names = ['s1', 's2', 's3'] if is_large else ['s1', 's2']
        wait_until(lambda: sorted(self.daemon.members()) == names, None, 'the servers to be %s after %s' % (names, rule))
        wait_until(lambda: all(m['state'] == 'live' and m.get('phase') != 'none' for m in self.daemon.members().values()),
                   None, 'the servers to be watched after %s' % rule)
        for _ in range(4):  # each worker takes some
            if is_large:
                with Client(self.more[0]) as client:
                    self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n', rule)
            self.assertEqual(self.daemon.ask(b'get k\r\n'), b'END\r\n', rule)
        self.assertEqual(accepts(self.more[0]), is_large, rule)
        for i in range(10):
            key = b'w%d' % i
            self.assertEqual(self.witness.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n', rule)
            self.assertEqual(self.witness.ask(b'get %s\r\n' % key), b'VALUE %s 0 1\r\nx\r\nEND\r\n' % key, rule)

    def try_one(self, **rule):
        self.faults.rule('allocate', **rule)
        taken = self.reload(True)
        self.assertIsNone(self.daemon.process.poll(), 'with %s: %s' % (rule, self.daemon.stderr()))
        self.check(taken, rule)
        if taken:
            self.assertTrue(self.reload(False), rule)
            self.check(False, rule)

    def test_one_that_fails(self):
        for n in numbers(self.count(), 12):
            self.assertTrue(self.reload(False))
            self.try_one(at=n)

    def test_all_that_fail_from_one_on(self):
        for n in numbers(self.count(), 30):
            self.assertTrue(self.reload(False))
            self.try_one(from_=n)


@proxy_only
@usable
class AllocationsAfterReload(FaultsTest):
    """A reload was taken, and there is no memory to watch its new server yet."""

    def test_the_others_go_by_the_new_configuration(self):
        servers = [self.memcached('s%d' % i) for i in (1, 2, 3)]
        count = self.reload(servers, None)
        self.assertIn(True, (self.reload(servers, n) for n in range(count, count // 2, -1)),
                      'no failure left a server unwatched')

    def reload(self, servers, n):
        """
        Adds the first of them with no memory from allocation n on, and ejects the second one;
        returns whether the first was left unwatched. n None: how many allocations there are.
        """
        tunables = 'glibc.malloc.tcache_count=0:glibc.malloc.perturb=85'  # what is freed is overwritten
        environment = dict(self.faults.environment(), GLIBC_TUNABLES=tunables)
        self.faults.clear()
        daemon = self.ketamad(servers[1:], pool={'probe_interval': '10m'}, environment=environment)
        self.wait_started(daemon)
        with Client(daemon.admin_address) as admin:
            self.assertRegex(admin.ask(b'version\r\n'), b'^VERSION')
            daemon.servers = servers
            self.faults.rule('allocate', **({} if n is None else {'from_': n}))
            daemon.reload()
            wait_until(lambda: daemon.log_has(r'reload: (done|failed)'), None, 'the reload to be over')
            count = self.faults.count('allocate', 'calls')
            is_unwatched = bool(daemon.log_has('some servers are not watched yet'))
            if is_unwatched:
                admin.send(b'eject s2\r\n')
                wait_until(lambda: daemon.log_has('s2 keeps its standing for now'), None, 'the command to be tried')
            self.faults.clear()
            if is_unwatched:  # said when all workers go by it
                self.assertEqual(admin.read_line(), b'OK\r\n')
        if is_unwatched:
            daemon.wait_state('s2', 'ejected')
            wait_until(lambda: 's1' in daemon.members(), None, 'the new server to be watched')
        self.assertEqual(daemon.terminate(), 0)
        return count if n is None else is_unwatched


@proxy_only
@usable
class AllocationsOfNames(FaultsTest):
    """A reload that is refused has no names looked up that only it knew."""

    @staticmethod
    def counts(daemon):
        stats = daemon.admin_stats()
        return int(stats['reloads']), int(stats['reloads_refused'])

    def reload(self, daemon, servers, n):
        """Whether it is taken, what was logged, and whether an allocation failed."""
        before = len(daemon.stderr())
        counts = self.counts(daemon)
        daemon.servers = servers
        daemon.write_conf()
        self.faults.rule('allocate', at=n)
        daemon.send_signal(signal.SIGHUP)
        began = time.monotonic()

        def is_over():
            if re.search(r'reload: (done|failed)', daemon.stderr()[before:]):
                return True
            return time.monotonic() - began > 0.3 * TIME_FACTOR  # its line was held back, as one of too many
        wait_until(is_over, None, 'the reload to be over')
        has_failed = self.faults.count('allocate') > 0
        self.faults.rule('allocate')
        wait_until(lambda: self.counts(daemon) != counts, None, 'the reload')  # and two turns: names are looked up
        return self.counts(daemon)[0] > counts[0], daemon.stderr()[before:], has_failed

    def test_one_that_fails(self):
        few = [self.memcached('s1')]
        many = few + ['localhost:%d name=s2' % free_port(), 'no-such-host.invalid:11211 name=s3']
        daemon = self.faulty(few)
        refused = 0
        has_failed = True
        n = 0
        while has_failed:
            n += 1
            is_taken, logged, has_failed = self.reload(daemon, many, n)
            if is_taken:
                self.assertTrue(self.reload(daemon, few, 0)[0])
            else:
                refused += 1
                self.assertNotIn('name localhost', logged, n)
        self.assertGreater(refused, 10)


@proxy_only
@usable
class AllocationsAtEjection(FaultsTest):
    """A server leaves and returns although memory was short, and shows nothing that was overwritten."""

    def setUp(self):
        super().setUp()
        self.servers = [self.memcached('s%d' % i) for i in (1, 2)]
        self.daemon = self.faulty(self.servers, pool={
            'fall': 1, 'rise': 1, 'probe_interval': '100ms', 'probe_timeout': '%dms' % (400 * TIME_FACTOR),
            'request_timeout': '%dms' % (300 * TIME_FACTOR), 'min_live': '0%'})
        self.serial = 0

    def write(self, key, value):
        """True where it is sure to be there."""
        try:
            return self.daemon.ask(b'set %s 0 0 3\r\n%s\r\n' % (key, value)) == b'STORED\r\n'
        except (EOFError, ConnectionError):
            return False

    def out_and_back(self, keys, out_rule, back_rule):
        """s1 hangs, values of its keys are written anew, s1 goes on; returns what was stored."""
        for key in keys:
            self.assertEqual(self.servers[0].ask(b'set %s 0 0 3\r\nold\r\n' % key), b'STORED\r\n')
        self.faults.rule('allocate', **out_rule)
        self.servers[0].pause()
        stored = [key for key in keys if self.write(key, b'new')]
        self.faults.rule('allocate')
        wait_until(lambda: self.daemon.state('s1') in ('ejected', 'down'), None, 's1 to be out')
        stored += [key for key in keys[:2] if self.write(key, b'new')]
        self.faults.rule('allocate', **back_rule)
        self.servers[0].resume()
        stored += [key for key in keys[2:4] if self.write(key, b'new')]
        self.assertIsNone(self.daemon.process.poll(), self.daemon.stderr())
        return stored

    def try_one(self, out_rule, back_rule):
        keys = keys_of('s1', ('s1', 's2'))[self.serial:self.serial + 8]
        self.serial += 8
        stored = self.out_and_back(keys, out_rule, back_rule)
        begin = time.monotonic()
        wait_until(lambda: time.monotonic() - begin > 0.15, None, 'some of the return to be tried')
        self.faults.rule('allocate')
        self.daemon.wait_state('s1', 'live', 30)
        for key in stored:
            reply = wait_until(lambda key=key: self.answer(key), None, 'an answer')
            self.assertNotIn(b'old', reply, 'of %s after %s, %s' % (key, out_rule, back_rule))
        if self.daemon.log_has('nobody stands in for it again'):  # it lost count of what was written
            self.daemon.admin('restore s1')

    def answer(self, key):
        reply = self.daemon.ask(b'get %s\r\n' % key)
        return reply if reply.endswith(b'END\r\n') else None

    def test_some_that_fail_while_it_leaves_and_while_it_returns(self):
        for _ in range(60 if ALL else 2):
            kind = random.choice(['at', 'from_', 'share'])
            rule = {kind: random.choice([0.02, 0.2, 0.5]) if kind == 'share' else random.randint(1, 60)}
            self.faults.set('seed', random.getrandbits(30))
            try:
                self.try_one(*random.sample([rule, {}], 2))
            except AssertionError as error:
                raise AssertionError('with %s: %s %s' % (rule, error, self.daemon.members())) from None


@proxy_only
@usable
class AllocationsAtTheAdminPorts(FaultsTest):
    """An answer, perhaps cut short, or the connection ends; clients do not notice."""

    COMMANDS = ('help', 'stats', 'stats servers', 'servers', 'ring', 'locate k', 'top', 'slow', 'hot', 'clients', 'events',
                'settings', 'reload', 'nonsense')

    def setUp(self):
        super().setUp()
        self.http = '127.0.0.1:%d' % free_port()
        self.daemon = self.faulty([self.memcached('s1'), self.memcached('s2')], proxy={'http': self.http})
        self.witness = self.other_client()
        self.assertEqual(self.witness.ask(b'get k\r\n'), b'END\r\n')

    def ask_admin(self, command):
        with Client(self.daemon.admin_address) as client:
            client.send(command.encode() + b'\r\nversion\r\nquit\r\n')
            return client.read_until_closed()

    def ask_http(self, path):
        with Client(self.http) as client:
            client.send(b'GET %s HTTP/1.0\r\n\r\n' % path.encode())
            client.timeout = TIME_FACTOR
            try:
                return client.read_until_closed()
            except Timeout:  # evhttp takes it for half a request, and ends it by its time-out
                self.assertTrue(self.faults.count('allocate'))
                return b''

    def try_one(self, ask, what, **rule):
        with self.faults.armed('allocate', **rule):
            try:
                ask(what)
            except (ConnectionError, EOFError):
                pass
            failed = self.faults.count('allocate')
        self.assertIsNone(self.daemon.process.poll(), '%s with %s: %s' % (what, rule, self.daemon.stderr()))
        self.assertEqual(self.witness.ask(b'get k\r\n'), b'END\r\n', '%s with %s' % (what, rule))
        return failed

    def check(self):
        self.assertRegex(self.ask_admin('stats'), rb'(?s)^STAT .*END\r\nVERSION ')
        self.assertRegex(self.ask_http('/stats.json'), rb'(?s)^HTTP/1.. 200 .*\}')

    def test_one_that_fails(self):
        asked = [(self.ask_admin, command) for command in self.COMMANDS]
        asked += [(self.ask_http, path) for path in ('/', '/metrics', '/stats.json', '/healthz', '/readyz', '/none')]
        for ask, what in asked:
            n = random.randint(1, 1 if ALL else 12)
            while self.try_one(ask, what, at=n):
                n += 1 if ALL else 12
            for n in random.sample(range(1, 40), 20 if ALL else 1):
                self.try_one(ask, what, from_=n)
            self.check()


if __name__ == '__main__':
    main()
