"""Values that go through pipes: every size, slow and dying readers, servers that die, no pipes to be had."""

import errno
import os
import random
import resource
import threading
import unittest

from injected import Faults, usable
from harness import (END, STORED, TIME_FACTOR, ProxyTest, free_port, main, open_descriptors, proxy_only, resident_kib,
                     server_line, wait_until)

LARGE = 64 << 10  # from here on
SIZES = (LARGE - 2500, LARGE - 1, LARGE, LARGE + 1, LARGE + 2048, 100 << 10, (1 << 20) - 200, 3 << 20)


def pipes_of(pid):
    """How many ends of pipes a process has open."""
    found = 0
    for name in os.listdir('/proc/%d/fd' % pid):
        try:
            found += os.readlink('/proc/%d/fd/%s' % (pid, name)).startswith('pipe:')
        except OSError:
            pass
    return found


class LargeTest(ProxyTest):
    def start_all(self, servers=2, unix=None, **options):
        self.servers = [self.memcached('s%d' % (i + 1), unix=unix, options=('-I', '4m')) for i in range(servers)]
        options.setdefault('proxy', {'workers': 1})['max_value_size'] = '4m'
        self.daemon = self.ketamad(self.servers, **options)

    def pipes(self):
        """Ends of the pipes that values go through."""
        return pipes_of(self.daemon.pid) - self.pipes_before

    def unix_listen(self):
        """Sockets that hold little, so that who does not read has it held by the proxy."""
        return 'unix:%s/listen' % self.temporary_directory()

    def fill(self, sizes):
        """Stores a value of each size; returns them by key."""
        values = {b'v%d' % i: random.randbytes(size) for i, size in enumerate(sizes)}
        with self.daemon.client() as client:
            for key, value in values.items():
                self.assertEqual(client.ask(b'set %s 7 0 %d\r\n%s\r\n' % (key, len(value), value)), STORED)
        self.pipes_before = pipes_of(self.daemon.pid)
        return values

    @staticmethod
    def shown(key, value):
        return b'VALUE %s 7 %d\r\n%s\r\n' % (key, len(value), value)

    def check(self, client, values, key):
        reply = self.shown(key, values[key]) + END
        client.send(b'get %s\r\n' % key)
        self.equal_bytes(client.read_exactly(len(reply)), reply, key)

    def warm_up(self, client, values):
        """From the second large value of a connection on, all but its first bytes is moved."""
        for key in values:
            self.check(client, values, key)


@proxy_only
class LargeValues(LargeTest):
    def test_every_size_however_it_is_asked_for(self):
        self.start_all()
        values = self.fill(SIZES + SIZES)
        keys = list(values)
        with self.daemon.client() as client:
            self.warm_up(client, values)
            self.assertGreater(self.pipes(), 0)
            self.assertGreater(int(self.daemon.admin_stats()['backend_bytes_moved']), sum(SIZES))
            for _ in range(10):
                asked, due = [], []
                for _ in range(6):
                    some = random.sample(keys, random.choice((1, 1, 2, 5)))
                    if random.random() < 0.5:
                        asked.append(b'get %s nothing\r\n' % b' '.join(some))
                        due.append(b''.join(self.shown(key, values[key]) for key in some) + END)
                    elif random.random() < 0.5:
                        asked.append(b'get %s\r\nget nothing\r\n' % some[0])
                        due.append(self.shown(some[0], values[some[0]]) + END + END)
                    else:
                        asked.append(b'mg %s v f\r\nmn\r\n' % some[0])
                        value = values[some[0]]
                        due.append(b'VA %d f7\r\n%s\r\nMN\r\n' % (len(value), value))
                client.send(b''.join(asked))
                due = b''.join(due)
                self.equal_bytes(client.read_exactly(len(due)), due, b''.join(asked))

    def test_over_unix_sockets(self):
        self.start_all(servers=1, unix=self.temporary_directory() + '/s1', listens=[self.unix_listen()])
        values = self.fill(SIZES)
        with self.daemon.client() as client:
            for _ in range(3):
                self.warm_up(client, values)
        self.assertGreater(self.pipes(), 0)

    def test_many_clients_that_read_slowly_or_not_at_all(self):
        """More of them than there are pipes: the others' values are copied."""
        self.start_all(listens=[self.unix_listen()])
        values = self.fill([1 << 20] * 4)
        keys = list(values)
        lone = [b'get %s\r\n' % key for key in keys]
        clients = [self.client(self.daemon.address) for _ in range(100)]
        for client in clients:
            client.send(lone[0] + lone[1])
        wait_until(lambda: self.pipes() == 64, None, 'all pipes to be in use')
        with self.daemon.client() as other:
            for _ in range(3):
                self.warm_up(other, values)
        due = b''.join(self.shown(key, values[key]) + END for key in keys[:2])
        for client in clients[::2]:
            client.close()
        for client in clients[1::2]:
            self.equal_bytes(client.read_exactly(len(due)), due, lone[0])
        wait_until(lambda: self.pipes() == 0, None, 'the pipes to be given back')

    def test_slow_readers_leave_descriptors_to_others(self):
        self.start_all(servers=1, listens=[self.unix_listen()], proxy={'workers': 1},
                       preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
        values = self.fill([300000] * 2)
        with self.daemon.client() as other:
            self.warm_up(other, values)
        clients = [self.client(self.daemon.address) for _ in range(110)]
        for client in clients:
            client.send(b'get v0\r\nget v1\r\n')
        wait_until(lambda: self.pipes() >= 22, None, 'an eighth of the descriptors to be in use')
        self.assertLessEqual(self.pipes(), 25)  # a checker takes some of them for itself
        with self.daemon.client() as other:
            self.check(other, values, b'v0')

    def test_a_server_that_dies_in_a_value_fails_its_request_alone(self):
        value = random.randbytes(300000)
        header = b'VALUE k 0 300000\r\n'
        ends = (header + value + b'\r\nEND\r\n')

        def behave(connection):
            for line, _ in connection.requests():
                if line.startswith(b'get k'):
                    connection.server.gets += 1
                    whole = connection.server.gets % 3 != 0
                    connection.send(ends if whole else ends[:len(header) + 200000])
                    if not whole:
                        connection.reset() if connection.server.gets % 2 else connection.close()
                        return
                else:
                    connection.send(END)
        server = self.scripted(behave, name='s1')
        server.gets = 0
        self.daemon = self.ketamad([server], pool={'fall': 1000}, proxy={'workers': 1})
        with self.daemon.client() as client:
            before = None
            for number in range(1, 31):
                client.send(b'get k\r\nget other\r\n')
                if client.read_exactly(5) == ends[:5]:  # perhaps of a second try
                    self.equal_bytes(client.read_exactly(len(ends) - 5), ends[5:], b'get k')
                else:
                    self.assertRegex(client.read_line(), rb'^R_ERROR s1: ')
                self.assertRegex(client.read_line(), rb'^(END|SERVER_ERROR s1: .*)\r\n$')
                if number == 15:
                    before = open_descriptors(self.daemon.pid)
            self.assertLess(open_descriptors(self.daemon.pid), before + 4)

    def test_a_value_that_does_not_end_as_it_should_is_nobodys(self):
        value = random.randbytes(200000)
        replies = [b'VALUE k 0 200000\r\n' + value + end + b'END\r\n' for end in (b'\r\n', b'\r\n', b'xx', b'\rx')]

        def behave(connection):
            for _ in connection.requests():
                connection.send(replies[min(connection.server.gets, 3)])
                connection.server.gets += 1
        server = self.scripted(behave, name='s1')
        server.gets = 0
        self.daemon = self.ketamad([server], pool={'fall': 1000}, proxy={'workers': 1})
        with self.daemon.client() as client:
            for number in range(4):
                client.send(b'get k\r\n')
                if number < 2:
                    self.equal_bytes(client.read_exactly(len(replies[0])), replies[0], b'get k')
                else:
                    self.assertRegex(client.read_line(), rb'^SERVER_ERROR s1: ')

    def test_a_client_that_leaves_in_a_value_harms_nobody(self):
        self.start_all(servers=1)
        values = self.fill([3 << 20, 100 << 10])
        with self.daemon.client() as other:
            self.warm_up(other, values)
            for number in range(20):
                with self.daemon.client() as client:
                    client.send(b'get v0\r\nget v0 v1\r\n')
                    client.read_exactly(random.choice((1, 100, 70000, 1 << 20)))
                    if number % 2:
                        client.reset()
                self.check(other, values, random.choice(list(values)))

    def test_memory_is_counted_and_bounded(self):
        self.start_all(servers=1, proxy={'workers': 1, 'max_memory': '20m'}, listens=[self.unix_listen()])
        values = self.fill([1 << 20] * 2)
        with self.daemon.client() as other:
            self.warm_up(other, values)
            clients = [self.client(self.daemon.address) for _ in range(60)]
            for client in clients:
                client.send(b'get v0\r\nget v1\r\n')
            wait_until(lambda: int(self.daemon.admin_stats()['out_of_memory']) > 0, None, 'somebody to be refused')
            self.assertLess(int(self.daemon.admin_stats()['buffer_bytes']), 21 << 20)
            self.assertLess(resident_kib(self.daemon.pid), (40 << 10) * TIME_FACTOR)

    def test_values_that_have_only_begun_count_whole(self):
        """Of many servers at once: none is taken on that there would be no room for."""
        size, servers = 4 << 20, 30
        go_on = threading.Event()

        def behave(connection):
            for line, _ in connection.requests():
                length = LARGE if line == b'get first' else size
                header = b'VALUE %s 0 %d\r\n' % (line[4:], length)
                connection.send(header + bytes(3000))
                if length == size:
                    go_on.wait(30)
                connection.send(bytes(length - 3000) + b'\r\nEND\r\n')

        scripted = [self.scripted(behave, name='s%d' % i) for i in range(servers)]
        listens = ['127.0.0.1:%d' % free_port() for _ in scripted]
        text = '[proxy]\nadmin = {admin}\nworkers = 1\nmax_memory = 20m\nmax_value_size = 8m\n'
        for number, server in enumerate(scripted):
            text += '[pool p%d]\nlisten = %s\nrequest_timeout = 30s\nserver = %s\n' % (
                number, listens[number], server_line(server))
        self.daemon = self.ketamad(scripted, text=text, listens=listens)
        clients = [self.client(listen) for listen in listens]
        first = b'VALUE first 0 %d\r\n%s\r\nEND\r\n' % (LARGE, bytes(LARGE))
        for client in clients:
            client.send(b'get first\r\n')
            self.equal_bytes(client.read_exactly(len(first)), first, b'get first')
        try:
            for client in clients:
                client.send(b'get big\r\n')
            wait_until(lambda: int(self.daemon.admin_stats()['out_of_memory']) == servers - 4, None,
                       'all to be refused but those that there is room for')
            self.assertLess(int(self.daemon.admin_stats()['buffer_bytes']), 20 << 20)
        finally:
            go_on.set()

    def test_what_follows_a_large_value_is_not_read_in_little_pieces(self):
        def behave(connection):
            for line, _ in connection.requests():
                values = [(key, bytes(1 << 20 if key == b'big' else 10000)) for key in line.split()[1:]]
                connection.send(b''.join(b'VALUE %s 7 %d\r\n%s\r\n' % (key, len(value), value)
                                         for key, value in values) + END)

        self.daemon = self.ketamad([self.scripted(behave, name='s1')], proxy={'workers': 1})
        small = [b'k%d' % i for i in range(400)]
        turns = []
        with self.daemon.client() as client:
            for keys in (small, [b'big'] + small, [b'big'] + small):
                due = b''.join(self.shown(key, bytes(1 << 20 if key == b'big' else 10000)) for key in keys) + END
                before = int(self.daemon.admin_stats()['ticks'])
                client.send(b'get %s\r\n' % b' '.join(keys))
                self.equal_bytes(client.read_exactly(len(due)), due, b'get')
                turns.append(int(self.daemon.admin_stats()['ticks']) - before)
        self.assertLess(turns[2], 600, turns)  # 4 MB in pieces of 2 kB would take 2000


@proxy_only
@usable
class WithoutPipes(LargeTest):
    def start_with(self, **rules):
        self.faults = Faults()
        self.start_all(environment=self.faults.environment())
        values = self.fill(SIZES)
        for call, rule in rules.items():
            self.faults.rule(call, **rule)
        return values

    def walk(self, values, rounds=3):
        with self.daemon.client() as client:
            for _ in range(rounds):
                self.warm_up(client, values)

    def test_no_pipe_is_to_be_had(self):
        for error in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            values = self.start_with(pipe={'from_': 1, 'error': error})
            self.walk(values)
            self.assertGreater(self.faults.count('pipe'), 0)
            self.assertEqual(self.pipes(), 0)

    def test_the_kernel_cannot_move_bytes_from_or_to_these_sockets(self):
        errors = (errno.EINVAL, errno.ENOSYS, errno.EPERM)
        for rule in ({'from_': 1}, {'at': 1}, {'at': 2}, {'at': 3}, {'at': 4}, {'share': 0.5}):
            values = self.start_with(splice=dict(rule, error=random.choice(errors)))
            self.walk(values)
            self.assertGreater(self.faults.count('splice'), 0)

    def test_interrupted_and_cut_short(self):
        values = self.start_with(splice={'share': 0.3, 'error': errno.EINTR})
        self.walk(values)
        self.faults.set('most_bytes', 7000)
        self.walk(values, 1)
        self.assertGreater(self.faults.count('splice'), 0)


if __name__ == '__main__':
    main()
