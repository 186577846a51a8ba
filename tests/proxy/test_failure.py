"""A server's failure: never silence, never a shift, never more than its own (cases 17 to 27)."""

import signal
import threading
import time

from harness import (TIME_FACTOR, ProxyTest, answer_like_memcached, free_port, is_readable, keys_of, main,
                     never_answer, pause_process, proxy_only, resident_kib, serve_items, unittest, wait_until)

NEVER_EJECT = {'fall': 1000}  # for what must hold while a dead server is still asked


def value(key, text=b'x'):
    return b'VALUE %s 0 %d\r\n%s\r\n' % (key, len(text), text)


@proxy_only
class OneServerIsDead(ProxyTest):
    def setUp(self):
        super().setUp()
        self.daemon, self.servers = self.pool_of(3, pool=NEVER_EJECT)
        self.keys = {name: keys_of(name)[:4] for name in ('s1', 's2', 's3')}
        with self.daemon.client() as client:
            for keys in self.keys.values():
                for key in keys:
                    self.assertEqual(client.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')

    def test_a_multi_get_brings_the_living_servers_values(self):
        """Case 17."""
        self.servers[1].kill()
        asked = [key for group in zip(*self.keys.values()) for key in group]
        living = b''.join(value(key) for key in asked if key not in self.keys['s2'])
        after = self.keys['s1'][0]
        with self.daemon.client() as client:
            for _ in range(20):
                client.send(b'get ' + b' '.join(asked) + b'\r\nget ' + after + b'\r\n')
                self.assertEqual(client.barrier(), living + b'END\r\n' + value(after) + b'END\r\n')

    def test_a_request_to_it_gets_an_error_with_its_name_and_the_next_one_works(self):
        self.servers[1].kill()
        self.daemon = self.ketamad(self.servers, pool=dict(NEVER_EJECT, on_failure='error'))
        dead, alive = self.keys['s2'][0], self.keys['s3'][0]
        with self.daemon.client() as client:
            for request in (b'get %s\r\n', b'set %s 0 0 1\r\ny\r\n', b'delete %s\r\n', b'incr %s 1\r\n', b'touch %s 0\r\n',
                            b'mg %s v\r\n', b'md %s q\r\n', b'ms %s 1\r\nz\r\n', b'cas %s 0 0 1 5\r\ny\r\n', b'gat 0 %s\r\n'):
                client.send(request % dead + b'get ' + alive + b'\r\n')
                self.assertRegex(client.read_line(), rb'^SERVER_ERROR s2: [^\r\n]+\r\n$')
                self.assertEqual(client.read_reply(), value(alive) + b'END\r\n')

    def test_noreply_to_it_is_silent(self):
        self.servers[1].kill()
        dead, alive = self.keys['s2'][0], self.keys['s3'][0]
        with self.daemon.client() as client:
            client.send((b'set %s 0 0 1 noreply\r\ny\r\ndelete %s noreply\r\nincr %s 1 noreply\r\n' % (dead, dead, dead)) * 20
                        + b'get ' + alive + b'\r\n')
            self.assertEqual(client.barrier(), value(alive) + b'END\r\n')

    def test_it_serves_again_once_it_is_back(self):
        dead = self.keys['s2'][0]
        with self.daemon.client() as client:
            self.servers[1].kill()
            client.ask(b'get ' + dead + b'\r\n')
            self.servers[1].start()
            wait_until(lambda: client.ask(b'set ' + dead + b' 0 0 1\r\nz\r\n') == b'STORED\r\n'
                       and self.servers[1].ask(b'get ' + dead + b'\r\n').startswith(b'VALUE'),
                       None, 's2 to serve again')

    def test_requests_under_way_when_it_dies_are_all_answered(self):
        dead = self.keys['s2']
        for _ in range(5):
            clients = [self.client(self.daemon.address) for _ in range(10)]
            self.servers[1].pause()
            for client in clients:
                client.send(b''.join(b'get %s\r\n' % key for key in dead) * 5)
            self.servers[1].kill()
            for client in clients:
                for _ in range(20):
                    reply = client.read_reply()
                    self.assertTrue(reply == b'END\r\n' or reply.startswith(b'VALUE')
                                    or reply.startswith(b'SERVER_ERROR s2: '), reply)
                self.assertFalse(client.has_input())
                client.close()
            self.servers[1].start()
            wait_until(lambda: self.daemon.ask(b'set %s 0 0 1\r\nx\r\n' % dead[0]) == b'STORED\r\n',
                       None, 's2 to serve again')

    def test_flush_all_says_which_server_failed(self):
        self.servers[1].kill()
        with self.daemon.client() as client:
            reply = client.ask(b'flush_all\r\n')
            self.assertTrue(reply == b'OK\r\n' or reply.startswith(b'SERVER_ERROR s2: '), reply)
            self.assertEqual(client.ask(b'get ' + self.keys['s1'][0] + b'\r\n'), b'END\r\n')


@proxy_only
class AllServersAreDown(ProxyTest):
    """Case 27."""

    def test_every_request_is_answered_at_once_and_the_connection_kept(self):
        daemon = self.ketamad(['127.0.0.1:%d name=s%d' % (free_port(), i) for i in (1, 2, 3)],
                              pool={'request_timeout': '8s', 'connect_timeout': '8s'})
        with daemon.client() as client:
            for request in (b'get k\r\n', b'get a b c d e f g h\r\n', b'set k 0 0 1\r\nx\r\n', b'delete k\r\n', b'mg k v\r\n',
                            b'gets a b a\r\n', b'gat 0 a b c\r\n', b'flush_all\r\n', b'ms k 1\r\nx\r\n') * 3:
                began = time.monotonic()
                client.send(request)
                line = client.read_line()
                self.assertRegex(line, rb'^SERVER_ERROR [^\r\n]+\r\n$', request)
                self.assertLess(time.monotonic() - began, 2 * TIME_FACTOR)
                self.assertEqual(client.barrier(), b'', request)

    def test_servers_that_come_up_later_serve(self):
        server = self.memcached('s1')
        server.kill()
        daemon = self.ketamad([server])
        with daemon.client() as client:
            self.assertTrue(client.ask(b'get k\r\n').startswith(b'SERVER_ERROR s1: '))
            server.start()
            wait_until(lambda: client.ask(b'get k\r\n') == b'END\r\n', None, 's1 to serve')


@proxy_only
class AHungServer(ProxyTest):
    def test_each_request_fails_at_its_own_deadline(self):
        """Case 23."""
        server = self.scripted(never_answer, name='s1')
        daemon = self.ketamad([server], pool=dict(NEVER_EJECT, request_timeout='300ms'))
        waits = []
        lock = threading.Lock()

        def ask():
            with daemon.client() as client:
                began = time.monotonic()
                reply = client.ask(b'get k\r\n')
                with lock:
                    waits.append((time.monotonic() - began, reply))
        threads = []
        begin = time.monotonic()
        for i in range(10):
            wait_until(lambda i=i: time.monotonic() - begin >= 0.05 * i, None, 'the next 50 ms')
            threads.append(threading.Thread(target=ask))
            threads[-1].start()
        for thread in threads:
            thread.join()
        for seconds, reply in waits:
            self.assertRegex(reply, rb'^SERVER_ERROR s1: [^\r\n]+\r\n$')
            self.assertGreater(seconds, 0.25, waits)
            self.assertLess(seconds, 0.3 + 0.5 * TIME_FACTOR, waits)

    def test_the_others_do_not_slow_down(self):
        """Case 25, in part."""
        daemon, servers = self.pool_of(3, proxy={'workers': 1},
                                       pool=dict(NEVER_EJECT, request_timeout='8s'))
        keys = {name: keys_of(name)[0] for name in ('s1', 's2')}
        servers[0].pause()
        stuck = [self.client(daemon.address) for _ in range(10)]
        for client in stuck:
            client.send(b'get %s\r\n' % keys['s1'])
        with daemon.client() as client:
            worst = 0
            for _ in range(200):
                began = time.monotonic()
                self.assertEqual(client.ask(b'get %s\r\n' % keys['s2']), b'END\r\n')
                worst = max(worst, time.monotonic() - began)
        self.assertLess(worst, 2 * TIME_FACTOR)
        servers[0].resume()
        for client in stuck:
            reply = client.read_reply()
            self.assertTrue(reply == b'END\r\n' or reply.startswith(b'SERVER_ERROR s1: '), reply)

    def test_values_that_were_passed_on_are_not_kept_until_its_late_reply_comes(self):
        daemon, servers = self.pool_of(2, proxy={'workers': 1},
                                       pool=dict(NEVER_EJECT, request_timeout='1s'))
        alive, hung = (keys_of(name, ('s1', 's2'))[0] for name in ('s1', 's2'))
        with daemon.client() as client:
            self.answers(client, b'set %s 0 0 500000\r\n%s\r\n' % (alive, b'x' * 500000), b'STORED\r\n')
            self.answers(client, b'get %s\r\n' % hung, b'END\r\n')
            servers[1].pause()
            client.send(b'get %s %s\r\n' % (alive, hung))
            self.assertEqual(client.read_reply(), value(alive, b'x' * 500000) + b'END\r\n')
            stats = wait_until(lambda: self.is_little_held(daemon), None, 'the value to be let go')
            self.assertEqual(stats['in_flight'], '1', 'the late reply is awaited still')
        servers[1].resume()

    @staticmethod
    def is_little_held(daemon):
        stats = daemon.admin_stats()
        return int(stats['buffer_bytes']) < 400000 and stats

    def test_noreply_writes_to_it_take_bounded_memory(self):
        """Case 24."""
        def never_read(connection):
            connection.wait(1000)
        server = self.scripted(never_read, name='s1')
        daemon = self.ketamad([server], pool=dict(NEVER_EJECT, request_timeout='300ms'),
                              proxy={'max_memory': '32m'})
        before = resident_kib(daemon.pid)
        block = b'set k 0 0 10000 noreply\r\n' + b'x' * 10000 + b'\r\n'
        done = threading.Event()

        def flood():
            try:
                with daemon.client(timeout=60 * TIME_FACTOR) as client:
                    for _ in range(400):
                        client.send(block * 20)
            except OSError:
                pass
            done.set()
        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        peak = 0
        while not done.wait(0.01):
            peak = max(peak, resident_kib(daemon.pid))
        if TIME_FACTOR == 1:
            self.assertLess(peak - before, 64 * 1024)
        with daemon.client() as client:
            self.assertRegex(client.ask(b'get k\r\n'), rb'^SERVER_ERROR s1: ')

    def test_a_late_reply_that_drips_on_for_ever_ends_its_connection(self):
        ended = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                if line == b'get drip':
                    connection.send(b'VALUE drip 0 1000000\r\n')
                    while connection.send(b'x') and not is_readable(connection.sock, 0.02):
                        pass
                    ended.set()
                    return
                connection.send(answer_like_memcached(connection.server, line, block))
        daemon = self.ketamad([self.scripted(behave, name='s1')], proxy={'workers': 1},
                              pool={'probe_interval': '0', 'on_failure': 'error', 'fall': 1000,
                                    'request_timeout': '%dms' % (100 * TIME_FACTOR)})
        with daemon.client() as client:
            self.assertRegex(client.ask(b'get drip\r\n'), rb'^SERVER_ERROR s1: request timed out')
            self.assertTrue(ended.wait(10 * TIME_FACTOR), 'those behind it wait as long as it drips')
            wait_until(lambda: client.ask(b'get k\r\n') == b'END\r\n', 30, 'a new connection')

    def test_a_server_that_accepts_no_connection_fails_within_the_connect_timeout(self):
        """A full backlog: the kernel drops the SYN, as a black hole does."""
        import socket
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(('127.0.0.1', 0))
        listener.listen(0)
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            try:
                filler.connect(listener.getsockname())
            except BlockingIOError:
                pass
            fillers.append(filler)
            self.addCleanup(filler.close)
        daemon = self.ketamad(['127.0.0.1:%d name=s1' % listener.getsockname()[1]],
                              pool=dict(NEVER_EJECT, connect_timeout='200ms', request_timeout='3s'))
        with daemon.client() as client:
            began = time.monotonic()
            self.assertRegex(client.ask(b'get k\r\n'), rb'^SERVER_ERROR s1: ')
            self.assertLess(time.monotonic() - began, 1.5 * TIME_FACTOR)


@proxy_only
class WhatIsNoFailure(ProxyTest):
    def test_a_clients_bad_data_never_counts_against_a_server(self):
        """Case 18."""
        daemon, servers = self.pool_of(3)
        keys = [keys_of(name)[0] for name in ('s1', 's2', 's3')]
        bad = [b'set %s 0 0 3\r\nabcdef\r\n', b'incr %s x\r\n', b'touch %s x\r\n', b'mg %s ~\r\n', b'ms %s 1 ~\r\nx\r\n',
               b'set %s x 0 1\r\nx\r\n', b'md %s ~ ~\r\n', b'cas %s 0 0 1 x\r\ny\r\n', b'delete %s 5\r\n']
        with daemon.client() as client:
            for _ in range(30):
                for key in keys:
                    for request in bad:
                        client.send(request % key)
            client.barrier()
        for _ in range(20):
            with daemon.client() as client:
                client.send(b'set %s 0 0 99999\r\nhalf' % keys[0])
        with daemon.client() as client:
            for key, server in zip(keys, servers):
                self.assertEqual(client.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')
                self.assertEqual(server.ask(b'get %s\r\n' % key), value(key) + b'END\r\n')

    def test_clients_that_leave_in_the_middle_harm_nobody(self):
        daemon, servers = self.pool_of(2)
        keys = [b'k%d' % i for i in range(40)]
        with daemon.client() as steady:
            steady.send(b''.join(b'set %s 0 0 1000\r\n%s\r\n' % (key, b'v' * 1000) for key in keys))
            steady.barrier()
            for i in range(100):
                client = daemon.client()
                client.send(b'get ' + b' '.join(keys) + b'\r\n' + b'set k1 0 0 1000\r\n' + b'v' * (i * 10))
                client.reset() if i % 2 else client.close()
                key = keys[i % 40]
                self.assertEqual(steady.ask(b'get ' + key + b'\r\n'), value(key, b'v' * 1000) + b'END\r\n')

    def test_a_server_that_closes_idle_connections_is_no_failure(self):
        """Case 19."""
        def close_after_one(connection):
            for line, block in connection.requests():
                connection.send(answer_like_memcached(connection.server, line, block))
                return
        server = self.scripted(close_after_one, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'probe_interval': '0'})
        with daemon.client() as client:
            for i in range(40):
                self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n', 'get number %d' % i)
                wait_until(lambda: server.open_connections() == 0, None, 'the server to close')

    def test_a_request_that_meets_an_idle_close_goes_over_a_new_connection(self):
        """Case 19, at its worst: the proxy sees a request and then the close in one turn of its loop."""
        server = self.scripted(name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'probe_interval': '0', 'fall': '1'})
        with daemon.client() as client:
            self.assertEqual(client.ask(b'set k 0 0 1\r\n0\r\n'), b'STORED\r\n')
            for i in range(20):
                pause_process(daemon.pid)
                client.send(b'set k 0 0 1\r\n%d\r\nincr k 1\r\n' % (i % 9))
                server.drop_connections()
                daemon.send_signal(signal.SIGCONT)
                self.assertEqual(client.read_line(), b'STORED\r\n')
                self.assertEqual(client.read_line(), b'%d\r\n' % (i % 9 + 1))

    def test_a_request_that_meets_a_close_behind_a_reply_goes_over_a_new_connection(self):
        """As the one before, but what the proxy reads first is a reply, with the close behind it."""
        def close_after_one(connection):
            for line, block in connection.requests():
                connection.server.hold.acquire()
                connection.send(answer_like_memcached(connection.server, line, block))
                return
        server = self.scripted(close_after_one, name='s1')
        server.hold = threading.Semaphore(0)
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'probe_interval': '0', 'fall': '1'})
        with daemon.client() as one, daemon.client() as other:
            for i in range(20):
                wait_until(lambda: daemon.admin_stats()['backend_connections'] == '0', None, 'the last close')
                one.send(b'set k 0 0 1\r\n1\r\n')
                wait_until(lambda: server.open_connections() == 1, None, 'the first request')
                wait_until(lambda: daemon.admin_stats()['in_flight'] == '1', None, 'the first request')
                pause_process(daemon.pid)
                server.hold.release()
                wait_until(lambda: server.open_connections() == 0, None, 'the close')
                other.send(b'set k 0 0 1\r\n2\r\n')
                daemon.send_signal(signal.SIGCONT)
                self.assertEqual(one.read_line(), b'STORED\r\n')
                server.hold.release()
                self.assertEqual(other.read_line(), b'STORED\r\n')

    def test_a_server_that_closes_each_connection_at_once_fails_requests_soon(self):
        server = self.scripted(lambda connection: None, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'probe_interval': '0'})
        with daemon.client() as client:
            for _ in range(10):
                self.assertRegex(client.ask(b'set k 0 0 1\r\n0\r\n'), rb'SERVER_ERROR s1: ')
        self.assertLess(server.accepted, 100)

    def test_slow_but_steady_answers_are_life(self):
        """Case 22: 800 requests on a server that takes 2 ms each, and a deadline of 100 ms."""
        def behave(connection):
            for line, block in connection.requests():
                connection.wait(0.002)
                connection.send(answer_like_memcached(connection.server, line, block))
        server = self.scripted(behave, name='s1')
        server.items.update((b'k%d' % i, (b'0', b'%d' % i)) for i in range(40))
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'request_timeout': '100ms'})
        clients = [self.client(daemon.address) for _ in range(40)]
        for i, client in enumerate(clients):
            client.send(b'get k%d\r\n' % i * 20)
        values = 0
        for i, client in enumerate(clients):
            for _ in range(20):
                reply = client.read_reply()
                right = value(b'k%d' % i, b'%d' % i) + b'END\r\n'
                self.assertTrue(reply == right or reply.startswith(b'SERVER_ERROR s1: '), reply)
                values += reply == right
        self.assertGreater(values, 10)
        self.assertLessEqual(server.accepted, 3, 'the connection was given up while it answered')
        self.assertEqual(daemon.ask(b'get k1\r\n'), value(b'k1', b'1') + b'END\r\n')


@proxy_only
class ServersThatMisbehave(ProxyTest):
    """Whatever a server does, a reply may be missing but never wrong."""

    def clients_against(self, behaviour, seconds=1.5):
        """Several clients ask for values that hold their keys; returns how many replies of a kind."""
        bad = self.scripted(behaviour, name='s1')
        good = self.scripted(serve_items, name='s2')
        items = {b'k%d' % i: (b'0', b'value-of-k%d' % i) for i in range(200)}
        bad.items.update(items)
        good.items.update(items)
        daemon = self.ketamad([bad, good], pool=dict(NEVER_EJECT, request_timeout='200ms'))
        counts = {'value': 0, 'miss': 0, 'error': 0, 'closed': 0}
        wrong = []
        lock = threading.Lock()
        stop = threading.Event()

        def ask(seed):
            client = daemon.client()
            i = seed
            while not stop.is_set():
                i = (i * 7 + 11) % 200
                key = b'k%d' % i
                try:
                    reply = client.ask(b'get ' + key + b'\r\n')
                except (EOFError, OSError):
                    kind = 'closed'
                    client.close()
                    client = daemon.client()
                else:
                    kind = ('value' if reply == value(key, b'value-of-' + key) + b'END\r\n' else
                            'miss' if reply == b'END\r\n' else
                            'error' if reply.startswith(b'SERVER_ERROR s1: ') else 'wrong')
                with lock:
                    if kind == 'wrong':
                        wrong.append((key, reply))
                    else:
                        counts[kind] += 1
            client.close()
        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        wait_until(lambda: time.monotonic() - begin > seconds, None, 'the load to run')
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:5], [])
        self.assertGreater(counts['value'], 0)
        return counts

    def test_garbage_now_and_then(self):
        def behave(connection):
            for n, (line, block) in enumerate(connection.requests()):
                reply = answer_like_memcached(connection.server, line, block)
                connection.send(b'garbage\r\n' if n % 17 == 16 else reply)
        self.clients_against(behave)

    def test_gets_go_elsewhere_while_a_broken_connection_is_waited_for(self):
        """What it was sent may still be carried out, so there is no new one yet; nothing is sent, nothing lost."""
        def behave(connection):
            for _ in connection.requests():
                connection.send(b'garbage\r\n')
                connection.wait(30)
                return
        servers = [self.scripted(behave, name='s1'), self.memcached('s2')]
        daemon = self.ketamad(servers, proxy={'workers': 1}, pool=NEVER_EJECT)
        mine, other = keys_of('s1', ('s1', 's2'))[0], keys_of('s2', ('s1', 's2'))[0]
        with daemon.client() as client:
            client.ask(b'get %s\r\n' % other)
            self.assertEqual(client.ask(b'get %s\r\n' % mine), b'SERVER_ERROR s1: broken reply\r\n')
            for _ in range(5):
                self.assertEqual(client.ask(b'get %s\r\n' % mine), b'END\r\n')
                self.assertEqual(client.ask(b'get %s %s\r\n' % (mine, other)), b'END\r\n')

    def test_resets_in_the_middle_of_replies(self):
        def behave(connection):
            for n, (line, block) in enumerate(connection.requests()):
                reply = answer_like_memcached(connection.server, line, block)
                if n % 13 == 12:
                    connection.send(reply[:n % len(reply)])
                    connection.reset()
                    return
                connection.send(reply)
        self.clients_against(behave)

    def test_answers_sometimes_later_than_the_deadline(self):
        def behave(connection):
            for n, (line, block) in enumerate(connection.requests()):
                if n % 41 == 40:
                    connection.wait(0.35)
                connection.send(answer_like_memcached(connection.server, line, block))
        counts = self.clients_against(behave, 3)
        self.assertGreater(counts['error'], 0)

    def test_one_reply_left_out(self):
        """The next reply is of another key, so the connection must be given up, not believed."""
        def behave(connection):
            for n, (line, block) in enumerate(connection.requests()):
                if n % 23 != 22:
                    connection.send(answer_like_memcached(connection.server, line, block))
        self.clients_against(behave)

    def test_one_reply_too_many(self):
        def behave(connection):
            for n, (line, block) in enumerate(connection.requests()):
                reply = answer_like_memcached(connection.server, line, block)
                connection.send(reply * (2 if n % 19 == 18 else 1))
        self.clients_against(behave)


if __name__ == '__main__':
    main()
