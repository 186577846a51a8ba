"""Many clients, slow ones, greedy ones, and a long time: short here, longer by the environment.

STORM_CLIENTS=20000 connect at once, UNREAD_GETS=5000 a client, MULTIGETS=1000000, SOAK_SECONDS=3600.
FIGURES=1 prints what was measured.
"""

import os
import random
import resource
import select
import signal
import socket
import threading
import time
import unittest

from harness import (DEADLINE, TEST_DEADLINE, TIME_FACTOR, Client, ProxyTest, failures, keys_of, main,
                     open_descriptors, proxy_only, resident_kib, wait_until, wrongs)

STORM_CLIENTS = int(os.environ.get('STORM_CLIENTS', 2000))
UNREAD_GETS = int(os.environ.get('UNREAD_GETS', 1000))
MULTIGETS = int(os.environ.get('MULTIGETS', 20000))
SOAK_SECONDS = float(os.environ.get('SOAK_SECONDS', 4))

# Sanitizers keep freed memory for a while, so memory is judged in the plain build alone.
EXACT_MEMORY = TIME_FACTOR == 1
MIB = 1024


def figure(text, *values):
    if os.environ.get('FIGURES'):
        print(text % values, flush=True)


class Peak:
    """The most resident memory of a process while it is watched."""

    def __init__(self, pid):
        self.pid = pid
        self.before = self.most = resident_kib(pid)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        try:
            while not self.stop.wait(0.005):
                self.most = max(self.most, resident_kib(self.pid))
        except (OSError, AttributeError):
            pass  # it is gone, and the test has failed

    def grown(self):
        """Ends the watch; how much it was more than before."""
        self.stop.set()
        self.thread.join()
        return self.most - self.before


@proxy_only
class Storm(ProxyTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        want = max(hard, STORM_CLIENTS + 80)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (want, want))
        except (OSError, ValueError):
            self.skipTest('%d descriptors are not allowed' % want)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, want))

    def test_all_that_connect_at_once_are_served(self):
        daemon, _ = self.pool_of(2, proxy={'max_clients': STORM_CLIENTS + 50})
        host, port = daemon.address.rsplit(':', 1)
        daemon.ask(b'get k\r\n')
        peak = Peak(daemon.pid)
        poller = select.epoll()
        clients, answers = {}, {}
        self.addCleanup(poller.close)
        self.addCleanup(lambda: [sock.close() for sock in clients.values()])
        began = time.monotonic()
        for i in range(STORM_CLIENTS):
            sock = socket.socket()
            sock.setblocking(False)
            sock.bind(('127.0.0.%d' % (2 + i % 50), 0))
            sock.connect_ex((host, int(port)))
            clients[sock.fileno()] = sock
            answers[sock.fileno()] = b''
            poller.register(sock, select.EPOLLOUT)
        waiting = STORM_CLIENTS
        while waiting:
            ready = poller.poll(6 * DEADLINE)
            self.assertTrue(ready, '%d clients are not served' % waiting)
            for fd, _ in ready:
                if not answers[fd]:
                    clients[fd].send(b'get k%d\r\n' % fd)
                    answers[fd] = b'?'
                    poller.modify(fd, select.EPOLLIN)
                    continue
                answers[fd] += clients[fd].recv(100)
                self.assertIn(answers[fd], b'?END\r\n')
                if answers[fd] == b'?END\r\n':
                    waiting -= 1
                    poller.modify(fd, 0)
        seconds = time.monotonic() - began
        self.assertEqual(int(daemon.admin_stats()['curr_connections']), STORM_CLIENTS)
        kept = resident_kib(daemon.pid) - peak.before
        figure('%d clients served in %.1f s, %.0f bytes a client, at most %d KiB', STORM_CLIENTS, seconds,
               kept * 1024 / STORM_CLIENTS, peak.grown())
        if EXACT_MEMORY:
            self.assertLess(kept, STORM_CLIENTS * 0.8 + 4 * MIB)
        for sock in clients.values():
            sock.close()
        wait_until(lambda: open_descriptors(daemon.pid) < 60, None, 'the descriptors to be closed')
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')


@proxy_only
class Slow(ProxyTest):
    def test_clients_that_send_a_byte_at_a_time(self):
        daemon, _ = self.pool_of(2)
        request = b'set k%d 0 0 5\r\nhello\r\nget k%d\r\n'
        slow = [(i, self.client(daemon.address)) for i in range(100)]
        with daemon.client() as witness:
            for at in range(len(request % (99, 99))):
                for i, client in slow:
                    client.send((request % (i, i))[at:at + 1])
                began = time.monotonic()
                self.assertEqual(witness.ask(b'get none\r\n'), b'END\r\n')
                self.assertLess(time.monotonic() - began, TIME_FACTOR)
        for i, client in slow:
            self.assertEqual(client.read_line(), b'STORED\r\n')
            self.assertEqual(client.read_reply(), b'VALUE k%d 0 5\r\nhello\r\nEND\r\n' % i)

    def test_a_server_that_answers_a_byte_at_a_time(self):
        def trickle(connection):
            for line, _ in connection.requests():
                for byte in b'VALUE %s 0 5\r\nhello\r\nEND\r\n' % line.split()[1]:
                    connection.wait(0.01)
                    connection.send(bytes([byte]))
        slow = self.scripted(trickle, name='s1')
        fast = self.memcached('s2')
        daemon = self.ketamad([slow, fast], proxy={'workers': 1}, pool={'request_timeout': '%dms' % (500 * TIME_FACTOR)})
        one, two = keys_of('s1', ('s1', 's2'))[0], keys_of('s2', ('s1', 's2'))[0]
        clients = [self.client(daemon.address) for _ in range(5)]
        for client in clients:
            client.send(b'get %s\r\n' % one)
        with daemon.client() as witness:
            for _ in range(100):
                began = time.monotonic()
                self.assertEqual(witness.ask(b'get %s\r\n' % two), b'END\r\n')
                self.assertLess(time.monotonic() - began, TIME_FACTOR)
        for client in clients:
            self.assertEqual(client.read_reply(), b'VALUE %s 0 5\r\nhello\r\nEND\r\n' % one)
        self.assertEqual(daemon.admin_stats()['timeouts'], '0')


@proxy_only
class Greedy(ProxyTest):
    """What is held for clients stays below max_memory, by the resident memory of the process."""

    def judge(self, daemon, peak, most_mib, what):
        grown = peak.grown()
        figure('%s: %d KiB more at most, max_memory %d KiB', what, grown, most_mib * MIB)
        if EXACT_MEMORY:
            self.assertLess(grown, most_mib * MIB * 5 // 4 + 4 * MIB, what)

            def is_given_back():
                return resident_kib(daemon.pid) - peak.before < 12 * MIB
            wait_until(is_given_back, None, 'memory to be given back (%d KiB more)' % (resident_kib(daemon.pid) - peak.before))

    def test_clients_that_never_read(self):
        daemon, _ = self.pool_of(2, proxy={'max_memory': '32m'})
        value = b'v' * 100000
        self.assertEqual(daemon.ask(b'set k 0 0 100000\r\n%s\r\n' % value), b'STORED\r\n')
        peak = Peak(daemon.pid)
        greedy = [self.client(daemon.address) for _ in range(20)]
        for client in greedy:
            client.sock.setblocking(False)
            try:
                client.sock.send(b'get k\r\n' * UNREAD_GETS)
            except BlockingIOError:
                pass
        with daemon.client() as witness:
            for i in range(50):
                reply = witness.ask(b'set w%d 0 0 1\r\nx\r\n' % i)
                self.assertTrue(reply in (b'STORED\r\n', b'SERVER_ERROR out of memory\r\n'), reply)
            for client in greedy:
                client.reset()
            wait_until(lambda: witness.ask(b'get k\r\n').startswith(b'VALUE k 0 100000\r\n'), None, 'room again')
        self.judge(daemon, peak, 32, '20 clients with %d gets of 100 KB unread' % UNREAD_GETS)

    def test_small_requests_that_wait_for_a_server(self):
        """What a request takes beside its bytes counts too."""
        server = self.memcached('s1')
        daemon = self.ketamad([server], proxy={'max_memory': '16m'},
                              pool={'request_timeout': '20s', 'probe_interval': '0', 'fall': 1000})
        peak = Peak(daemon.pid)
        clients = [self.client(daemon.address) for _ in range(150)]
        for client in clients:  # the longer a client is known, the more it may have under way
            client.send(b'get k\r\n' * 1000)
        for client in clients:
            client.read_exactly(len(b'END\r\n') * 1000)
        server.pause()
        for client in clients:
            client.sock.setblocking(False)
            try:
                client.sock.send(b'get k\r\n' * 1200)
            except BlockingIOError:
                pass
        wait_until(lambda: int(daemon.admin_stats()['out_of_memory']) > 0, None, 'the limit to be reached')
        with daemon.client() as witness:
            self.assertRegex(witness.ask(b'get k\r\n'), rb'^SERVER_ERROR out of memory\r\n')
        for client in clients:
            client.reset()
        server.resume()
        self.judge(daemon, peak, 16, '150 clients with 1000 small gets waiting')

    def test_multi_gets(self):
        daemon, _ = self.pool_of(3, proxy={'max_memory': '64m'}, pool={'request_timeout': '60s', 'probe_interval': '0'})
        keys = [b'key-%d' % i for i in range(40)]
        with daemon.client() as client:
            client.send(b''.join(b'set %s 0 0 %d noreply\r\n%s\r\n' % (key, len(key) * 3, key * 3) for key in keys))
            client.barrier()

            def lines(some):
                return (b'get ' + b' '.join(some) + b'\r\n',
                        b''.join(b'VALUE %s 0 %d\r\n%s\r\n' % (key, len(key) * 3, key * 3) for key in some) + b'END\r\n')
            asked = [lines(random.sample(keys, 10)) for _ in range(200)]
            request, reply = b''.join(q for q, _ in asked), b''.join(r for _, r in asked)
            peak = Peak(daemon.pid)
            began = time.monotonic()
            client.send(request)
            for i in range(MULTIGETS // 200):
                if i + 1 < MULTIGETS // 200:
                    client.send(request)
                self.equal_bytes(client.read_exactly(len(reply)), reply, request)
            figure('%d multi-gets of 10 keys in %.1f s', MULTIGETS, time.monotonic() - began)
        self.judge(daemon, peak, 64, 'multi-gets')


@proxy_only
class Soak(ProxyTest):
    def setUp(self):
        super().setUp()
        signal.setitimer(signal.ITIMER_REAL, TEST_DEADLINE + SOAK_SECONDS)

    def test_memory_and_descriptors_stay_flat(self):
        daemon, servers = self.pool_of(3, pool={'fall': 2, 'probe_interval': '200ms'})
        loads = [self.load(daemon, clients=30, strict=False, seconds=100000)]
        samples = []
        begin = last = time.monotonic()
        round_s = min(10, SOAK_SECONDS / 4)
        while time.monotonic() - begin < SOAK_SECONDS:
            wait_until(lambda: time.monotonic() - last > round_s, round_s + 5, 'a part of the soak')
            last = time.monotonic()
            if len(samples) % 3 == 1:
                random.choice(servers).restart()
            daemon.pool['request_timeout'] = '%dms' % (random.randint(900, 1100) * TIME_FACTOR)
            daemon.reload()
            for i in range(50):
                with daemon.client() as client:
                    client.send(b'get a%d b c d e\r\nset x 0 0 1000\r\n' % i)
                    client.read_reply()
            daemon.admin('stats')
            samples.append((resident_kib(daemon.pid), open_descriptors(daemon.pid)))
        counts = loads[0].result()
        self.assertEqual(wrongs(counts), {}, counts)
        figure('%.0f s: slowest answer %.0f ms; resident %d KiB at first, %d at the end, %d at most; descriptors %d, %d, %d; %d requests, %d failed',
               time.monotonic() - begin, counts['slowest_ms'], samples[0][0], samples[-1][0], max(s[0] for s in samples), samples[0][1],
               samples[-1][1], max(s[1] for s in samples), sum(counts[name]['done'] for name in ('get', 'set', 'delete')), failures(counts))
        if EXACT_MEMORY:
            early = max(s[0] for s in samples[:max(1, len(samples) // 4)])
            self.assertLess(samples[-1][0], early + 4 * MIB, samples)
        self.assertLess(samples[-1][1], samples[0][1] + 20, samples)


if __name__ == '__main__':
    main()
