"""Load, memory and bounds (cases 30 to 34)."""

import re
import resource
import socket
import threading
import time

from harness import (TIME_FACTOR, Client, ProxyTest, SameTest, answer_like_memcached, cpu_seconds, keys_of, let_pass,
                     main, open_descriptors, proxy_only, resident_kib, unittest, wait_until)

# Sanitizers keep freed memory for a while, so memory is judged in the plain build alone.
EXACT_MEMORY = TIME_FACTOR == 1


@proxy_only
class Memory(ProxyTest):
    def watch_peak(self, pid):
        """Starts watching; the returned function stops and gives the most KiB seen."""
        stop = threading.Event()
        peak = [resident_kib(pid)]

        def watch():
            try:
                while not stop.wait(0.005):
                    peak[0] = max(peak[0], resident_kib(pid))
            except OSError:
                pass  # it is gone, and the test has failed
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()

        def finish():
            stop.set()
            thread.join()
            return peak[0]
        return finish

    def test_pipelined_gets_hold_little_and_give_it_back(self):
        """Case 30: ten clients of 1000 pipelined gets of 20 KB, 200 MB of replies."""
        daemon, _ = self.pool_of(3)
        item = b'v' * 20000
        with daemon.client() as client:
            for i in range(10):
                client.ask(b'set k%d 0 0 20000\r\n%s\r\n' % (i, item))
        before = resident_kib(daemon.pid)
        finish = self.watch_peak(daemon.pid)
        clients = [self.client(daemon.address) for _ in range(10)]
        for i, client in enumerate(clients):
            client.send(b'get k%d\r\n' % i * 1000)
        one = b'VALUE k%d 0 20000\r\n' + item + b'\r\nEND\r\n'
        for i, client in enumerate(clients):
            for _ in range(1000):
                self.assertEqual(client.read_exactly(len(one) - 1), one % i)
        peak = finish()
        for client in clients:
            client.close()
        if EXACT_MEMORY:
            self.assertLess(peak - before, 120 * 1024)
            try:
                wait_until(lambda: resident_kib(daemon.pid) - before < 16 * 1024)
            except AssertionError:
                self.fail('memory is not given back: %d KiB before, %d at most, %d now; buffers %s'
                          % (before, peak, resident_kib(daemon.pid),
                             daemon.admin_stats()['buffer_bytes']))

    def test_a_client_that_does_not_read_is_not_read_from(self):
        daemon, _ = self.pool_of(1)
        item = b'v' * 500000
        daemon.ask(b'set k 0 0 500000\r\n' + item + b'\r\n')
        before = resident_kib(daemon.pid)
        finish = self.watch_peak(daemon.pid)
        with daemon.client() as client:
            client.sock.settimeout(0.5)
            sent = 0
            try:
                for _ in range(2000):
                    client.send(b'get k\r\n' * 100)
                    sent += 100
            except TimeoutError:
                pass
            self.assertEqual(daemon.ask(b'get nope\r\n'), b'END\r\n')
            peak = finish()
            if EXACT_MEMORY:
                self.assertLess(peak - before, 100 * 1024)
            client.sock.settimeout(10)
            reply = b'VALUE k 0 500000\r\n' + item + b'\r\nEND\r\n'
            for _ in range(50):
                self.assertEqual(client.read_exactly(len(reply)), reply)

    def test_a_huge_announced_set_is_refused_by_its_length_before_it_is_held(self):
        """Case 31."""
        daemon, _ = self.pool_of(1)
        before = resident_kib(daemon.pid)
        finish = self.watch_peak(daemon.pid)
        piece = b'x' * 1000000
        with daemon.client(timeout=60 * TIME_FACTOR) as client:
            client.send(b'set k 0 0 250000000\r\n')
            for _ in range(250):
                client.send(piece)
            client.send(b'\r\nget k\r\n')
            self.assertEqual(client.read_line(), b'SERVER_ERROR object too large for cache\r\n')
            self.assertEqual(client.read_line(), b'END\r\n')
        peak = finish()
        if EXACT_MEMORY:
            self.assertLess(peak - before, 8 * 1024)

    def test_unfinished_sets_of_many_clients_are_bounded(self):
        daemon, _ = self.pool_of(1, proxy={'max_memory': '16m'})
        before = resident_kib(daemon.pid)
        finish = self.watch_peak(daemon.pid)
        clients = []
        for i in range(100):
            client = self.client(daemon.address)
            client.sock.settimeout(0.05)
            clients.append(client)
            try:
                client.send(b'set k%d 0 0 1000000\r\n' % i + b'x' * 999000)
            except OSError:
                pass
        peak = finish()
        if EXACT_MEMORY:
            self.assertLess(peak - before, 48 * 1024)
        for client in clients:
            client.reset()
        wait_until(lambda: daemon.ask(b'set k 0 0 2\r\nhi\r\n') == b'STORED\r\n', None, 'room again')

    def test_a_line_of_keys_is_not_split_beyond_max_memory(self):
        daemon, _ = self.pool_of(1, proxy={'max_memory': '16m', 'workers': 1})
        before = resident_kib(daemon.pid)
        finish = self.watch_peak(daemon.pid)
        with daemon.client() as client:
            client.send(b'get ' + b'k ' * (3 << 20) + b'\r\n')  # read, it takes 6 MB; split, 18 MB more
            self.assertEqual(client.read_line(), b'SERVER_ERROR out of memory\r\n')
            self.assertEqual(client.ask(b'get k k\r\n'), b'END\r\n')
        if EXACT_MEMORY:
            self.assertLess(finish() - before, 20 * 1024)

    def test_a_request_that_waits_while_its_server_leaves_keeps_its_own_bytes_alone(self):
        def behave(connection):
            for line, block in connection.requests():
                if not line.startswith(b'get '):  # these keep it from leaving
                    connection.send(answer_like_memcached(connection.server, line, block))
        servers = [self.scripted(behave, name='s1'), self.memcached('s2')]
        daemon = self.ketamad(servers, proxy={'workers': 1},
                              pool={'probe_interval': '0', 'request_timeout': '%ds' % (30 * TIME_FACTOR)})
        key = keys_of('s1', ('s1', 's2'))[0]
        self.client(daemon.address).send(b'get %s\r\n' % key)
        wait_until(lambda: servers[0].asked(b'get '), None, 'the request to reach it')
        writers = [self.client(daemon.address) for _ in range(16)]
        with daemon.client() as other:
            before = int(daemon.admin_stats()['buffer_bytes'])
            daemon.admin('drain s1')  # for up to a second, writes to it wait for what it was asked before
            for writer in writers:
                writer.send(b'set %s 0 0 1\r\nx\r\n' % key)
                other.send((b'x' * 2000 + b'\r\n') * 24)  # read into the same buffers
                other.read_exactly(24 * len(b'ERROR\r\n'))
            stats = {}

            def all_wait():
                stats.update(daemon.admin_stats())
                return int(stats['in_flight']) == 1 + len(writers)
            wait_until(all_wait, None, 'all to be read')
            self.assertLess(int(stats['buffer_bytes']) - before, 200 * 1024)

    def check_room_is_made(self, daemon, stand_still):
        """The proxy is full with what clients that do nothing more hold: others wait a few seconds, not for ever."""
        def store(size):
            with daemon.client() as client:
                client.send(b'set other 0 0 %d\r\n%s\r\n' % (size, b'v' * size))
                return client.read_line()
        still = []
        while store(900000) == b'STORED\r\n':
            still.append(self.client(daemon.address))
            stand_still(still[-1])
            self.assertLess(len(still), 50)
        self.assertEqual(store(900000), b'SERVER_ERROR out of memory\r\n')
        wait_until(lambda: store(900000) == b'STORED\r\n', 20, 'room')
        self.assertGreater(int(daemon.admin_stats()['stalled_kicks']), 0)
        self.assertRegex(daemon.stderr(), r'client 127\.0\.0\.1:\d+ closed: memory is short')

    def test_unfinished_requests_that_stand_still_make_room_for_others(self):
        daemon, _ = self.pool_of(1, proxy={'max_memory': '4m', 'workers': 1})
        self.check_room_is_made(daemon, lambda client: client.send(b'set k 0 0 400000\r\nxxx'))

    def test_answers_that_nobody_takes_make_room_for_others(self):
        daemon, _ = self.pool_of(1, proxy={'max_memory': '4m', 'workers': 1})
        daemon.ask(b'set k 0 0 900000\r\n%s\r\n' % (b'v' * 900000))
        self.check_room_is_made(daemon, lambda client: client.send(b'get k\r\n' * 50))

    def test_who_stands_still_while_there_is_room_is_let_be(self):
        daemon, _ = self.pool_of(1, proxy={'max_memory': '64m', 'workers': 1})
        client = self.client(daemon.address)
        client.send(b'set k 0 0 4\r\nxx')
        let_pass(7)
        client.send(b'xx\r\n')
        self.assertEqual(client.read_line(), b'STORED\r\n')

    def test_idle_clients_cost_less_than_800_bytes_each(self):
        daemon, _ = self.pool_of(3)
        count = min(5000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 3)
        daemon.ask(b'get k\r\n')
        before = resident_kib(daemon.pid)
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for i in range(count):
            client = Client(daemon.address)
            clients.append(client)
            self.assertEqual(client.ask(b'get k%d\r\n' % i), b'END\r\n')
        if EXACT_MEMORY:
            self.assertLess(resident_kib(daemon.pid) - before, count * 0.8 + 1024)

    def test_descriptors_and_memory_come_back_after_clients_leave(self):
        daemon, _ = self.pool_of(3)
        with daemon.client() as client:
            client.ask(b'get a\r\n')
            client.ask(b'get b c d e f g h i j k\r\n')
        for _ in range(2):
            clients = [daemon.client() for _ in range(200)]
            for i, client in enumerate(clients):
                client.send(b'set k%d 0 0 1000\r\n%s\r\nget k%d\r\nset h 0 0 10000\r\nhalf' % (i, b'x' * 1000, i))
            for client in clients:
                client.read_line()
                client.close()
        base = 60
        wait_until(lambda: open_descriptors(daemon.pid) < base, None,
                   'descriptors to be closed (%d open)' % open_descriptors(daemon.pid))


@proxy_only
class Time(ProxyTest):
    """Case 32: time a key is flat. Measured as the daemon's own, whatever else the machine does."""

    @staticmethod
    def best(pid, times, action):
        costs = []
        for _ in range(times):
            before = cpu_seconds(pid)
            action()
            costs.append(cpu_seconds(pid) - before)
        return min(costs)

    @staticmethod
    def timed(action):
        began = time.perf_counter()
        action()
        return time.perf_counter() - began

    def test_multi_gets_of_1000_10000_and_100000_keys_take_the_same_time_a_key(self):
        daemon, _ = self.pool_of(3)
        with daemon.client(timeout=60 * TIME_FACTOR) as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(0, 100000, 4)))
            client.barrier()
            costs = {}
            for count in (1000, 10000, 100000):
                request = b'get ' + b' '.join(b'k%d' % i for i in range(count)) + b'\r\n'

                def ask(request=request):
                    client.send(request)
                    self.assertTrue(client.barrier().endswith(b'END\r\n'))
                costs[count] = self.best(daemon.pid, 5 if count < 100000 else 3, ask) / count
        self.assertLess(costs[10000], 4 * costs[1000], costs)
        self.assertLess(costs[100000], 4 * costs[1000], costs)

    def test_pipelines_of_10_100_and_1000_take_the_same_time_a_request(self):
        daemon, _ = self.pool_of(3)
        with daemon.client() as client:
            costs = {}
            for depth in (10, 100, 1000):
                request = b''.join(b'get k%d\r\n' % i for i in range(depth))

                def ask(request=request):
                    client.send(request)
                    client.barrier()
                costs[depth] = self.best(daemon.pid, 20, ask) / depth
        self.assertLess(costs[1000], 2 * costs[10], costs)
        self.assertLess(costs[100], 2 * costs[10], costs)

    def test_a_pipeline_of_any_depth_is_answered_without_a_pause(self):
        for workers in (1, 2):
            daemon, _ = self.pool_of(3, proxy={'workers': workers})
            for depth in (10, 60, 65, 80, 100, 128, 130, 150, 200, 260, 500, 1000):
                request = b''.join(b'set k%d 0 0 1\r\nx\r\n' % i if i % 3 else b'get k%d\r\n' % i
                                   for i in range(depth))
                worst = 0
                for _ in range(10):
                    with daemon.client() as client:
                        client.send(request)
                        worst = max(worst, self.timed(client.barrier))
                self.assertLess(worst, 0.5 * TIME_FACTOR, 'at a depth of %d' % depth)

    def test_a_request_costs_the_same_however_many_wait_for_its_server(self):
        """Those before it in the queue for a server that cannot be reached are not looked at again."""
        daemon = self.ketamad([self.black_hole() + ' name=s1'], proxy={'workers': 1},
                              pool={'probe_interval': '0', 'on_failure': 'error', 'connect_timeout': '60s',
                                    'request_timeout': '60s'})

        with daemon.client() as other:
            def ask_one_by_one():
                client = self.client(daemon.address)
                for _ in range(20):
                    client.send(b'get k\r\n')
                    other.ask(b'mn\r\n')  # it was taken when this is answered
            before = self.best(daemon.pid, 3, ask_one_by_one)
            for _ in range(300):
                self.client(daemon.address).send(b'get k\r\n' * 64)
            wait_until(lambda: int(daemon.admin_stats()['in_flight']) >= 64 * 300, None, 'them to wait')
            self.assertLess(self.best(daemon.pid, 3, ask_one_by_one), 4 * before)

    def test_a_request_costs_the_same_however_many_wait_for_a_server_that_reads_nothing(self):
        def stop_reading(connection):
            connection.read_line()
            connection.wait(1000)
        server = self.scripted(stop_reading, name='s1', receive_buffer=4096)
        daemon = self.ketamad([server], proxy={'workers': 1},
                              pool={'probe_interval': '0', 'on_failure': 'error', 'request_timeout': '60s'})

        with daemon.client() as other:
            def ask_one_by_one():
                client = self.client(daemon.address)
                for _ in range(60):
                    client.send(b'get k\r\n')
                    other.ask(b'mn\r\n')
            before = self.best(daemon.pid, 3, ask_one_by_one)
            for _ in range(60):  # more than sockets hold
                self.client(daemon.address).send(b'set k 0 0 100000\r\n' + b'v' * 100000 + b'\r\n')
            wait_until(lambda: int(daemon.admin_stats()['in_flight']) >= 60, None, 'them to wait')
            for _ in range(200):
                self.client(daemon.address).send(b'get k\r\n' * 64)
            wait_until(lambda: int(daemon.admin_stats()['in_flight']) >= 64 * 200, None, 'more to wait')
            self.assertLess(self.best(daemon.pid, 3, ask_one_by_one), 2 * before)

    def test_a_timeout_costs_the_same_however_many_late_answers_are_awaited(self):
        def never_answer(connection):
            for _ in connection.requests():
                pass
        daemon = self.ketamad([self.scripted(never_answer, name='s1')], proxy={'workers': 1},
                              pool={'probe_interval': '0', 'on_failure': 'error', 'fall': 1000, 'request_timeout': '2s'})
        costs = []
        with daemon.client() as other:
            for waiting in (0, 600):
                crowd = [self.client(daemon.address) for _ in range(waiting)]
                for client in crowd:
                    client.send(b'get k\r\n' * 64)
                for client in crowd * 64:
                    self.assertRegex(client.read_line(), rb'^SERVER_ERROR s1: .*timed out')
                client = self.client(daemon.address)  # from here on their answers are late
                before = cpu_seconds(daemon.pid)
                for _ in range(40):
                    client.send(b'get k\r\n')
                    other.ask(b'mn\r\n')
                for _ in range(40):
                    self.assertRegex(client.read_line(), rb'^SERVER_ERROR s1: .*timed out')
                costs.append(cpu_seconds(daemon.pid) - before)
        self.assertLess(costs[1], 2 * costs[0], costs)

    def test_stats_of_many_names_take_the_same_time_a_name(self):
        def lines(count, number):
            return b''.join(b'STAT %d %d\r\n' % (i, number) for i in range(count)) + b'END\r\n'

        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'stats '):
                    connection.send(lines(2000 if line == b'stats items' else 20000, 1))
                else:
                    connection.send(answer_like_memcached(connection.server, line, block))
        daemon = self.ketamad([self.scripted(behave, name=name) for name in ('s1', 's2')], proxy={'workers': 1},
                              pool={'probe_interval': '0'})
        with daemon.client(60 * TIME_FACTOR) as client:
            def ask(group, count):
                client.send(b'stats %s\r\n' % group)
                self.assertEqual(client.read_exactly(len(lines(count, 2))), lines(count, 2))
            few = self.best(daemon.pid, 2, lambda: ask(b'items', 2000)) / 2000
            many = self.best(daemon.pid, 1, lambda: ask(b'sizes', 20000)) / 20000
        self.assertLess(many, 3 * few, (many, few))

    def test_one_clients_deep_pipeline_does_not_starve_another(self):
        daemon, _ = self.pool_of(1, proxy={'workers': 1})
        daemon.ask(b'set k 0 0 1\r\nx\r\n')
        stop = threading.Event()

        def flood():
            with daemon.client() as client:
                while not stop.is_set():
                    client.send(b'get k\r\n' * 2000)
                    client.read_exactly(len(b'VALUE k 0 1\r\nx\r\nEND\r\n') * 2000)
        thread = threading.Thread(target=flood)
        thread.start()
        try:
            with daemon.client() as client:
                worst = max(self.timed(lambda: client.ask(b'get k\r\n')) for _ in range(50))
        finally:
            stop.set()
            thread.join()
        self.assertLess(worst, 1 * TIME_FACTOR)


@proxy_only
class Clients(ProxyTest):
    def test_one_client_over_max_clients_gets_a_line_and_a_close(self):
        """Case 34."""
        daemon, _ = self.pool_of(1, proxy={'max_clients': 2})
        served = wait_until(lambda: self.two_clients(daemon), None, 'the first clients to leave')
        for _ in range(4):
            with daemon.client() as client:
                self.assertRegex(client.read_until_closed(), rb'^\w*ERROR [^\r\n]+\r\n$')
        for client in served:
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
        self.assertGreaterEqual(daemon.admin_sum(r'reject|refus|max_clients|maxconns'), 4)
        served[0].close()
        wait_until(lambda: self.is_served(daemon), None, 'the freed place')

    @staticmethod
    def is_served(daemon):
        with daemon.client() as client:
            try:
                return client.ask(b'get k\r\n') == b'END\r\n'
            except (OSError, EOFError):
                return False

    def two_clients(self, daemon):
        clients = [daemon.client() for _ in range(2)]
        try:
            if all(client.ask(b'get k\r\n') == b'END\r\n' for client in clients):
                for client in clients:
                    self.addCleanup(client.close)
                return clients
        except (OSError, EOFError):
            pass
        for client in clients:
            client.close()
        return None

    def test_out_of_descriptors_it_waits_idly_and_goes_on_when_clients_leave(self):
        """Case 33."""
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        daemon, _ = self.pool_of(2, preexec=few_files, proxy={'max_clients': 1000, 'workers': 1})
        if daemon.log_has(r'max_clients'):
            pass  # it may say that the limit of descriptors is lower
        with daemon.client() as client:
            client.ask(b'get a b c d e f g\r\n')
        admin = self.client(daemon.admin_address)
        self.assertEqual(self.pauses(admin), 0)
        crowd = []
        self.addCleanup(lambda: [client.close() for client in crowd])
        for _ in range(150):
            crowd.append(Client(daemon.address))
        answered = [client for client in crowd if self.try_get(client)]
        self.assertGreater(len(answered), 10)
        let_pass(0.2)
        used = cpu_seconds(daemon.pid)
        let_pass(0.6)
        self.assertLess(cpu_seconds(daemon.pid) - used, 0.2, 'it spins')
        self.assertTrue(self.try_get(answered[0]))
        wait_until(lambda: self.pauses(admin) >= 3, None, 'more pauses, a second each')
        lines = daemon.stderr().count('accepting clients is paused')
        self.assertIn(lines, range(1, self.pauses(admin) // 2 + 1))
        for client in crowd:
            client.close()
        wait_until(lambda: self.is_served(daemon), None, 'new clients to be served again')

    @staticmethod
    def pauses(admin):
        return int(re.search(rb'STAT listen_disabled_num (\d+)', admin.ask(b'stats\r\n'))[1])

    @staticmethod
    def try_get(client):
        try:
            client.send(b'get k\r\n')
            client.timeout = 0.02 * TIME_FACTOR
            return client.read_line() == b'END\r\n'
        except (AssertionError, OSError, EOFError):
            return False
        finally:
            client.timeout = 10

    def test_idle_clients_are_closed_after_their_time_and_busy_ones_are_not(self):
        daemon, _ = self.pool_of(1, proxy={'client_idle_timeout': '1s'})
        idle, busy = self.client(daemon.address), self.client(daemon.address)
        self.assertEqual(idle.ask(b'get k\r\n'), b'END\r\n')
        begin = time.monotonic()

        def closed():
            self.assertEqual(busy.ask(b'get k\r\n'), b'END\r\n')
            return idle.is_closed_by_peer()
        wait_until(closed, None, 'the idle client to be closed')
        self.assertGreater(time.monotonic() - begin, 0.8)
        self.assertEqual(busy.ask(b'get k\r\n'), b'END\r\n')

    def test_many_short_connections_are_served(self):
        daemon, _ = self.pool_of(2)
        for i in range(1000):
            with daemon.client() as client:
                self.assertEqual(client.ask(b'set k%d 0 0 1\r\nx\r\n' % i), b'STORED\r\n')
        before = open_descriptors(daemon.pid)
        self.assertLess(before, 60)


@proxy_only
class Servers(ProxyTest):
    def test_a_server_that_does_not_keep_up_gets_a_bounded_queue_then_errors(self):
        def never_read(connection):
            connection.wait(1000)
        server = self.scripted(never_read, name='s1')
        daemon = self.ketamad([server], pool={'request_timeout': '500ms'},
                              proxy={'max_memory': '16m'})
        before = resident_kib(daemon.pid)
        clients = []
        for i in range(60):
            client = self.client(daemon.address)
            client.sock.settimeout(2 * TIME_FACTOR)
            clients.append(client)
            client.send(b'set k%d 0 0 500000\r\n' % i + b'x' * 500000 + b'\r\n')
        for client in clients:
            self.assertRegex(client.read_line(), rb'^SERVER_ERROR [^\r\n]+\r\n$')
        if EXACT_MEMORY:
            self.assertLess(resident_kib(daemon.pid) - before, 64 * 1024)

    def test_a_server_whose_stats_do_not_end_gets_no_more_than_max_memory(self):
        refused = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                if line != b'stats':
                    connection.send(answer_like_memcached(connection.server, line, block))
                while line == b'stats' and connection.send((b'STAT name ' + b'x' * 8000 + b'\r\n') * 100):
                    if refused.is_set():
                        connection.send(b'END\r\n')
                        break
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], pool={'probe_interval': '0'}, proxy={'workers': 1, 'max_memory': '16m'})
        before = resident_kib(daemon.pid)
        with daemon.client(5 * TIME_FACTOR) as client:
            client.send(b'stats\r\nget k\r\n')
            self.assertRegex(client.read_line(), rb'^SERVER_ERROR ')
            refused.set()
            self.assertEqual(client.read_line(), b'END\r\n')
        if EXACT_MEMORY:
            self.assertLess(resident_kib(daemon.pid) - before, 32 * 1024)

    def test_stats_are_added_up_within_max_memory(self):
        def behave(connection):
            for line, block in connection.requests():
                if line == b'stats items':
                    connection.send(b''.join(b'STAT %d \r\n' % i for i in range(300000)) + b'END\r\n')
                else:
                    connection.send(answer_like_memcached(connection.server, line, block))
        daemon = self.ketamad([self.scripted(behave, name='s1')], proxy={'workers': 1, 'max_memory': '16m'},
                              pool={'probe_interval': '0', 'request_timeout': '10s'})
        before = int(daemon.admin_stats()['buffer_bytes'])
        with daemon.client(5 * TIME_FACTOR) as client:  # 4 MB, whose names take 24 MB
            client.send(b'stats items\r\n')
            self.assertEqual(client.read_line(), b'SERVER_ERROR out of memory\r\n')
            self.assertTrue(client.ask(b'stats\r\n').startswith(b'STAT '))
        wait_until(lambda: int(daemon.admin_stats()['buffer_bytes']) < before + (200 << 10), None, 'it to be given back')


if __name__ == '__main__':
    main()
