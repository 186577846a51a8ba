"""Stopping (case 40)."""

import contextlib
import os
import signal
import threading
import time

from harness import (TIME_FACTOR, ProxyTest, accepts, answer_after, free_port, main, never_answer, pause_process,
                     proxy_only, wait_until)


@proxy_only
class Draining(ProxyTest):
    @contextlib.contextmanager
    def one_under_way(self, drain_timeout, request_timeout):
        """A daemon with a request that its server has got and never answers."""
        server = self.scripted(never_answer, name='s1')
        daemon = self.ketamad([server], proxy={'drain_timeout': drain_timeout},
                              pool={'request_timeout': request_timeout})
        with daemon.client() as client:
            client.send(b'get k\r\n')
            wait_until(lambda: server.asked(b'get k'), None, 'the request to reach the server')
            yield daemon

    def test_requests_under_way_are_answered_and_the_exit_is_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.scripted(answer_after(0.3), name='s1')
            daemon = self.ketamad([server])
            clients = [self.client(daemon.address) for _ in range(5)]
            for i, client in enumerate(clients):
                client.send(b'set k%d 0 0 1\r\nx\r\n' % i)
            wait_until(lambda: server.asked(b'set k') >= 1, None, 'the requests to reach the server')
            daemon.send_signal(number)
            for client in clients:
                self.assertEqual(client.read_line(), b'STORED\r\n')
                self.assertEqual(client.read_until_closed(), b'')
            self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)

    def test_what_was_sent_before_the_signal_is_answered_wherever_it_is(self):
        """Clients that no worker has taken in yet, or that are on their way from one to another."""
        for workers in (1, 4, 4, 4):
            daemon, _ = self.pool_of(2, proxy={'workers': workers})
            pause_process(daemon.pid)
            clients = [self.client(daemon.address) for _ in range(100)]
            for i, client in enumerate(clients):
                client.send(b'set k%d 0 0 1\r\nx\r\n' % i)
            daemon.send_signal(signal.SIGTERM)
            daemon.send_signal(signal.SIGCONT)
            for client in clients:
                self.assertEqual(client.read_line(), b'STORED\r\n')
                self.assertEqual(client.read_until_closed(), b'')
            self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)

    def test_nothing_is_reloaded_any_more(self):
        with self.one_under_way('20s', '20s') as daemon:
            more = '127.0.0.1:%d' % free_port()
            daemon.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(daemon.address), None, 'the listener to close')
            text = open(daemon.conf, encoding='utf-8').read()
            with open(daemon.conf, 'w', encoding='utf-8') as file:
                file.write(text + 'listen = %s\n' % more)
            self.assertEqual(daemon.admin('reload')[-1][:5], 'ERROR')
            self.assertFalse(accepts(more))
            daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)

    def test_under_load_no_reply_is_cut_off(self):
        daemon, _ = self.pool_of(3)
        troubles = []
        counts = []
        item = b'v' * 3000

        def load(seed):
            done = 0
            with daemon.client() as client:
                try:
                    while True:
                        key = b'k%d' % ((seed * 31 + done) % 50)
                        client.send(b'set %s 0 0 3000\r\n%s\r\nget %s\r\n' % (key, item, key))
                        stored = client.read_line()
                        got = client.read_reply()
                        if stored != b'STORED\r\n' or got != b'VALUE %s 0 3000\r\n%s\r\nEND\r\n' % (key, item):
                            troubles.append((stored, got[:100]))
                            break
                        done += 1
                except (EOFError, OSError):
                    left = client.buffer
                    if left not in (b'', b'STORED\r\n') and not left.endswith(b'END\r\n'):
                        troubles.append(('cut', left[-100:]))
            counts.append(done)
        threads = [threading.Thread(target=load, args=(seed,)) for seed in range(10)]
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        wait_until(lambda: time.monotonic() - begin > 0.5, None, 'some load')
        code = daemon.terminate()
        for thread in threads:
            thread.join()
        self.assertEqual(troubles, [])
        self.assertEqual(code, 0)
        self.assertGreater(sum(counts), 20)

    def test_new_clients_are_turned_away_at_once(self):
        server = self.scripted(answer_after(0.5), name='s1')
        daemon = self.ketamad([server], pool={'request_timeout': '20s'})
        with daemon.client() as client:
            client.send(b'get k\r\n')
            wait_until(lambda: server.asked(b'get k'), None, 'the request to reach the server')
            daemon.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(daemon.address), None, 'the listener to close')
            self.assertEqual(client.read_line(), b'END\r\n')
        self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)

    def test_idle_clients_do_not_hold_it_up(self):
        daemon, _ = self.pool_of(1, proxy={'drain_timeout': '8s'})
        clients = [self.client(daemon.address) for _ in range(20)]
        for client in clients:
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
        clients[0].send(b'set half 0 0 100\r\nnot')
        began = time.monotonic()
        daemon.send_signal(signal.SIGTERM)
        for client in clients[1:]:
            client.wait_closed(3)
        self.assertLess(time.monotonic() - began, 4 * TIME_FACTOR)
        clients[0].close()
        self.assertEqual(daemon.terminate(), 0)

    def test_a_hung_server_holds_it_up_for_the_drain_timeout_at_most(self):
        with self.one_under_way('500ms', '20s') as daemon:
            began = time.monotonic()
            self.assertEqual(daemon.terminate(), 0)
            self.assertLess(time.monotonic() - began, 3 * TIME_FACTOR)

    def test_a_second_signal_stops_it_at_once(self):
        with self.one_under_way('60s', '60s') as daemon:
            daemon.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts(daemon.address), None, 'the drain to begin')
            self.assertIsNone(daemon.process.poll())
            daemon.send_signal(signal.SIGTERM)
            daemon.process.wait(3 * TIME_FACTOR)
            daemon.expected_exit = daemon.process.returncode
            self.assertIn(daemon.process.returncode, (0, 1))

    def test_the_unix_socket_is_gone_afterwards(self):
        path = os.path.join(self.temporary_directory(), 'proxy.sock')
        daemon, _ = self.pool_of(1, listens=['unix:' + path])
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')
        self.assertEqual(daemon.terminate(), 0)
        self.assertFalse(os.path.exists(path))


if __name__ == '__main__':
    main()
