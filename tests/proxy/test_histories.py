"""Random histories of everything that may happen to servers, against a model: with rejoin = replay
or flush a read never gives a value older than the last acknowledged write.

HISTORY_SECONDS=3600 HISTORY_SEED=7 for longer ones; a failure names its seed and the key's story.
"""

import collections
import os
import random
import signal
import threading
import time

from faults import Process, Relay, Remote
from harness import ProxyTest, has_admin, main, unittest, wait_until
from histories import History, Stale

SECONDS = float(os.environ.get('HISTORY_SECONDS', '6'))
SEED = os.environ.get('HISTORY_SEED') or str(random.randrange(1 << 30))
POOL = {'probe_interval': '50ms', 'probe_timeout': '200ms', 'request_timeout': '300ms', 'connect_timeout': '200ms',
        'fall': 2, 'rise': 1, 'min_live': '0%'}
NO_NETWORK = Remote.whats_missing()
SAFE = ('replay', 'flush')


class Trouble(threading.Thread):
    """Does things to servers at random moments until it is told to stop, then puts all right."""

    def __init__(self, daemon, servers, seed, mean=0.25):
        super().__init__(daemon=True)
        self.proxy = daemon
        self.servers = servers
        self.choose = random.Random(seed)
        self.mean = mean
        self.failing = {}
        self.ending = threading.Event()
        self.is_done = False
        self.over = threading.Event()
        self.began = time.monotonic()
        self.done = collections.deque(maxlen=200)
        self.count = 0
        self.error = None

    def note(self, text):
        self.count += 1
        self.done.append('%.4f %s' % (time.monotonic() - self.began, text))

    def run(self):
        try:
            while not self.ending.wait(self.choose.expovariate(1 / self.mean)):
                self.step()
            for server in list(self.failing):
                self.heal(server)
            for server in self.servers:
                self.admin('restore %s' % server.name)
        except Exception as error:  # told by the main thread
            self.error = error
        self.is_done = True
        self.over.wait()  # the servers it started end with this thread

    def heal(self, server):
        self.note('%s is well again after %s' % (server.name, self.failing.pop(server)))
        server.heal()
        if self.choose.random() < 0.5:
            self.admin('restore %s' % server.name)  # probes may have become rare

    def admin(self, command):
        self.note(command)
        self.proxy.admin(command)

    def step(self):
        server = self.choose.choice(self.servers)
        way = self.choose.random()
        if server in self.failing and way < 0.85:
            self.heal(server)
        elif server not in self.failing and way < 0.65 and len(self.failing) < len(self.servers) - 1:
            how = self.choose.choice(server.FAULTS)
            self.note('%s: %s' % (server.name, how))
            server.fail(how)
            if how != 'restart':
                self.failing[server] = how
        elif way < 0.9:
            self.admin(self.choose.choice(('eject %s', 'drain %s', 'eject %s for 1s', 'restore %s', 'restore %s', 'restore %s'))
                       % server.name)
        else:
            pool = self.proxy.pool
            pool['request_timeout'] = '%dms' % self.choose.choice((200, 300, 500))
            pool['connections'] = self.choose.choice((1, 2, 3))
            pool['rise'] = self.choose.choice((1, 2))
            pool['min_live'] = self.choose.choice(('0%', '0%', '30%', '60%'))
            if pool['rejoin'] in SAFE and self.choose.random() < 0.3:
                pool['rejoin'] = self.choose.choice(SAFE)
            self.choose.shuffle(self.proxy.servers)
            self.note('reload: %s' % pool)
            self.proxy.write_conf()
            self.proxy.admin('reload')

    def stop(self):
        self.ending.set()
        self.over.set()
        self.join(60)


@unittest.skipUnless(has_admin('servers'), 'no rejoin yet')
class RandomHistories(ProxyTest):
    def setUp(self):
        super().setUp()
        signal.setitimer(signal.ITIMER_REAL, 120 + 3 * SECONDS)

    def history(self, rejoin, seconds, seed=SEED, **options):
        kinds = [Process, Relay, Process if NO_NETWORK else Remote]
        kinds += random.Random(seed).choice(([], [Process], [Relay, Process]))
        servers = [self.start(kind('s%d' % (i + 1))) for i, kind in enumerate(kinds)]
        daemon = self.ketamad(servers, pool=dict(POOL, rejoin=rejoin))
        trouble = Trouble(daemon, servers, seed)
        history = History(daemon.address, seed, **options)
        self.addCleanup(history.close)
        trouble.began = history.began
        trouble.start()
        try:
            while time.monotonic() - history.began < seconds:
                history.turn()
            trouble.ending.set()
            begin = time.monotonic()
            while not trouble.is_done or any(one['state'] != 'live' for one in daemon.members().values()):
                history.turn()
                if time.monotonic() - begin > 60:
                    raise Stale('a server does not return')
            begin = time.monotonic()
            while time.monotonic() - begin < 0.5:
                history.turn()
            history.finish()
        except Stale as stale:
            named = [key for key in history.keys if repr(key.name) in str(stale) or repr(key.name)[2:-1] + ' ' in str(stale)]
            raise Stale('%s, seed %s: %s\n%s\n%s\n%s' % (
                rejoin, seed, stale, '\n'.join('\n'.join(key.trace) for key in named), '\n'.join(trouble.done),
                '\n'.join(daemon.admin('servers')))) from None
        finally:
            trouble.stop()
        self.assertIsNone(trouble.error)
        self.assertGreater(history.hits, 100 * min(seconds, 10))
        if os.environ.get('HISTORY_STORY'):
            print('%s, seed %s: %d replies, %d of %d reads hit, %d flushes, %d troubles, errors %s' % (
                rejoin, seed, history.replies, history.hits, history.reads, history.flushed, trouble.count,
                dict(history.errors)), flush=True)

    def test_with_replay(self):
        self.history('replay', SECONDS)

    def test_with_flush(self):
        self.history('flush', SECONDS)

    def test_without_either_old_values_show(self):
        """So the histories can find them."""
        with self.assertRaises(Stale):
            self.history('keep', 60, flushes=False)


if __name__ == '__main__':
    main()
