"""System calls fail, are interrupted or do a part only: one connection pays at most."""

import errno
import os
import random
import signal
import subprocess
import time

from injected import Faults, usable
from harness import (DEADLINE, TIME_FACTOR, Client, ProxyTest, Timeout, accepts, cpu_seconds, free_port, let_pass, main,
                     proxy_only, wait_until)
from test_allocations import every_kind

ALL = os.environ.get('FAULTS') == 'all'


def read_all(descriptor):
    """What a pipe holds now."""
    held = b''
    while True:
        try:
            held += os.read(descriptor, 1 << 20)
        except BlockingIOError:
            return held


class SystemCallsTest(ProxyTest):
    def setUp(self):
        super().setUp()
        self.faults = Faults()
        self.serial = random.randint(0, 1 << 20)

    def start_all(self, **options):
        self.servers = [self.memcached('s1'), self.memcached('s2')]
        self.daemon = self.ketamad(self.servers, environment=self.faults.environment(), **options)
        wait_until(lambda: self.daemon.log_has(' serving 1 pool'), None, 'the start to be over')

    def walk(self, may_fail):
        """Every kind of request on a connection of its own, in one piece; returns how many were answered."""
        self.serial += 1
        answered = 0
        with self.daemon.client() as client:
            steps = every_kind(self.serial)
            try:
                client.send(b''.join(request for request, _ in steps))
                for request, reply in steps:
                    if reply is None:
                        continue
                    got = client.read_reply()
                    if not reply.fits(got) and not (may_fail and got.startswith(b'SERVER_ERROR ')):
                        self.fail('%r got %r' % (request[:200], got[:300]))
                    answered += 1
            except (EOFError, ConnectionError):
                if not may_fail:
                    raise
        return answered

    def is_whole(self):
        try:
            return self.walk(False)
        except (AssertionError, EOFError, ConnectionError) as error:
            if isinstance(error, AssertionError) and 'SERVER_ERROR' not in str(error):
                raise
            return False

    def all_is_well(self):
        self.faults.clear()
        wait_until(self.is_whole, None, 'every request to be answered again')
        self.assertIsNone(self.daemon.process.poll(), self.daemon.stderr())


@proxy_only
@usable
class PartsAndInterruptions(SystemCallsTest):
    """Not a failure at all: every answer is as without."""

    def test_reads_and_writes_of_few_bytes(self):
        self.start_all(pool={'request_timeout': '20s'})
        for most in (1, 2, 7, 1000) if ALL else (7, 1000):
            self.faults.set('most_bytes', most)
            self.walk(False)
        self.faults.set('most_bytes', 1)
        steps = [step for step in every_kind(self.serial) if step[1] and len(step[0]) < 2000 and b'k3-' not in step[0]]
        with self.daemon.client() as client:
            client.send(b''.join(request for request, _ in steps))
            for request, reply in steps:
                got = client.read_reply()
                self.assertTrue(reply.fits(got), '%r got %r' % (request, got[:300]))

    def test_interruptions(self):
        self.start_all(pool={'request_timeout': '20s'})
        for call in ('read', 'write', 'epoll_wait', 'accept'):
            self.faults.set('seed', random.getrandbits(30))
            self.faults.rule(call, share=0.5, error=errno.EINTR)
        for _ in range(20 if ALL else 4):
            self.walk(False)
        for call in ('read', 'write', 'epoll_wait'):
            self.assertGreater(self.faults.count(call), 0, call)


@proxy_only
@usable
class Failures(SystemCallsTest):
    def rules(self):
        yield 'read', (errno.ECONNRESET, errno.ETIMEDOUT, errno.ENOMEM, errno.EHOSTUNREACH)
        yield 'write', (errno.EPIPE, errno.ECONNRESET, errno.ENOBUFS, errno.ENOMEM)
        yield 'connect', (errno.ENOBUFS, errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EPERM)
        yield 'socket', (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
        yield 'epoll_add', (errno.ENOSPC, errno.ENOMEM)
        yield 'accept', (errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPROTO)

    def test_now_and_then(self):
        self.start_all(pool={'connect_timeout': '300ms', 'fall': 1000, 'request_timeout': '%dms' % (500 * TIME_FACTOR)})
        for call, errors in self.rules():
            for error in errors if ALL else random.sample(errors, 2):
                for server in self.servers if call in ('connect', 'socket', 'epoll_add') else ():
                    self.cut(server)
                self.faults.set('seed', random.getrandbits(30))
                self.faults.rule(call, share=0.05 if call in ('read', 'write') else 0.5, error=error)
                for _ in range(3):
                    try:
                        self.walk(True)
                    except Timeout:
                        self.assertEqual(call, 'accept')  # it waits in the backlog
                self.all_is_well()

    def cut(self, server):
        """So that connections have to be made again."""
        server.restart()

    def test_without_descriptors_no_port_spins_and_all_come_back(self):
        self.start_all(proxy={'http': '127.0.0.1:%d' % free_port()})
        http = self.daemon.proxy['http']
        self.faults.rule('accept', share=1, error=errno.EMFILE)
        waiting = [self.client(address) for address in (self.daemon.address, self.daemon.admin_address, http)]
        waiting[0].send(b'get k\r\n')
        waiting[1].send(b'stats\r\n')
        waiting[2].send(b'GET /metrics HTTP/1.0\r\n\r\n')
        let_pass(0.2)
        used = cpu_seconds(self.daemon.pid)
        let_pass(0.5)
        self.assertLess(cpu_seconds(self.daemon.pid) - used, 0.1, 'it spins')
        self.assertLess(len(self.daemon.stderr().splitlines()), 30)
        self.faults.clear()
        self.assertEqual(waiting[0].read_line(), b'END\r\n')
        self.assertRegex(waiting[1].read_line(), b'STAT ')
        self.assertRegex(waiting[2].read_line(), b'HTTP/1.. 200 ')


@proxy_only
@usable
class StartAndReload(SystemCallsTest):
    def test_an_address_in_use_at_the_start_and_at_a_reload(self):
        self.start_all()
        other = self.memcached()
        taken = self.ketamad(self.servers, listens=[other.address], wait=False)
        taken.expected_exit = 1
        self.assertEqual(taken.process.wait(10 * TIME_FACTOR), 1)
        self.assertRegex(taken.stderr(), r'cannot listen on %s: Address already in use' % other.address)
        before = self.daemon.listens
        self.daemon.listens = before + ['127.0.0.1:%d' % free_port(), other.address]
        self.daemon.reload()
        wait_until(lambda: self.daemon.log_has(r'reload: failed'), None, 'the refusal')
        self.assertTrue(self.daemon.log_has(r'cannot listen on %s: Address already in use' % other.address))
        self.assertFalse(accepts(self.daemon.listens[1]), 'what was opened for it is closed again')
        self.all_is_well()
        self.daemon.listens = self.daemon.listens[:2]
        self.daemon.reload()
        wait_until(lambda: accepts(self.daemon.listens[1]), None, 'the new listener')

    def test_each_call_of_a_start(self):
        servers = [self.memcached('s1')]
        for call, error in (('socket', errno.EMFILE), ('bind', errno.EACCES), ('epoll_add', errno.ENOSPC),
                            ('thread', errno.EAGAIN), ('open', errno.EROFS)):
            for n in range(1, 12):
                self.faults.clear()
                self.faults.rule(call, at=n, error=error)
                daemon = self.ketamad(servers, environment=self.faults.environment(), wait=False,
                                      proxy={'pidfile': '{dir}/pid', 'log': 'file:{dir}/log'},
                                      text='[proxy]\nadmin = {admin}\nlog = file:{dir}/log\n[pool main]\n'
                                      'listen = {listen}\nserver = %s\n' % servers[0].address)
                self.judge_start(daemon, '%s %d' % (call, n))
                if not self.faults.count(call):
                    break
            self.assertGreater(n, 1, call)

    def judge_start(self, daemon, what):
        def serves():
            return daemon.process.poll() is not None or accepts(daemon.address) and accepts(daemon.admin_address)
        wait_until(serves, None, 'start or exit with ' + what)
        try:
            daemon.process.wait(0.3 * TIME_FACTOR)
        except subprocess.TimeoutExpired:
            wait_until(lambda: daemon.ask(b'get k\r\n') == b'END\r\n', None, 'service with ' + what)
            self.assertTrue(daemon.admin('stats'))
            self.faults.clear()
            self.assertEqual(daemon.terminate(), 0, what)
            return
        daemon.expected_exit = 1
        self.assertEqual(daemon.process.returncode, 1, '%s: %s' % (what, daemon.stderr()))
        self.assertRegex(daemon.stderr().splitlines()[-1], r'cannot', what)


@proxy_only
@usable
class TheLog(SystemCallsTest):
    def start_with_log(self):
        self.log_path = os.path.join(self.temporary_directory(), 'log')
        self.servers = [self.memcached('s1'), self.memcached('s2')]
        self.daemon = self.ketamad(self.servers, environment=self.faults.environment(),
                                   proxy={'log': 'file:' + self.log_path})
        wait_until(lambda: ' serving 1 pool' in self.log(), None, 'the start to be over')

    def log(self):
        with open(self.log_path, encoding='utf-8') as log:
            return log.read()

    def test_a_full_disk_is_said_once_and_what_was_lost_when_there_is_room(self):
        self.start_with_log()
        self.faults.rule('log', share=1, error=errno.ENOSPC)
        for _ in range(3):
            self.daemon.admin('reload')
        self.walk(False)
        lost = int(self.daemon.admin_stats()['log_lines_lost'])
        self.assertGreaterEqual(lost, 3)
        self.faults.clear()
        self.daemon.admin('reload')
        wait_until(lambda: 'reload: done' in self.log().splitlines()[-1], None, 'the log to go on')
        self.assertRegex(self.log(), r'warn: %d lines were lost: No space left on device\n' % lost)
        self.assertEqual(self.daemon.stderr().count('No space left on device'), 1, self.daemon.stderr())

    def test_a_reopen_that_fails_keeps_the_old_file(self):
        self.start_with_log()
        self.faults.rule('open', share=1, error=errno.ENOSPC)
        self.daemon.send_signal(signal.SIGUSR1)
        wait_until(lambda: 'the old file stays in use: No space' in self.log(), None, 'the failure to be said')
        self.faults.clear()
        os.rename(self.log_path, self.log_path + '.1')
        self.daemon.send_signal(signal.SIGUSR1)
        wait_until(lambda: os.path.exists(self.log_path) and 'log opened again' in self.log(), None, 'the new file')


@proxy_only
class TheLogOnADevice(ProxyTest):
    def test_a_log_that_is_always_full(self):
        daemon = self.ketamad([self.memcached('s1')], proxy={'log': 'file:/dev/full'})
        for _ in range(3):
            daemon.admin('reload')
        self.assertEqual(daemon.ask(b'get k\r\n'), b'END\r\n')
        self.assertGreaterEqual(int(daemon.admin_stats()['log_lines_lost']), 3)
        self.assertEqual(daemon.stderr().count('No space left on device'), 1, daemon.stderr())

    def check_reader_that_stops(self, daemon, reader):
        with daemon.client() as client, Client(daemon.admin_address) as admin:
            daemon.write_conf('wrong\n' * 200)
            for _ in range(20):  # some hundred KiB of errors
                admin.send(b'reload\r\n')
                while not admin.read_line().startswith(b'ERROR nothing'):
                    pass
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
        self.assertGreater(int(daemon.admin_stats()['log_lines_lost']), 0)
        os.set_blocking(reader, False)
        read_all(reader)
        daemon.admin('reload')
        self.assertRegex(read_all(reader), rb'warn: \d+ lines were lost: its reader does not keep up\n')

    def test_a_reader_of_stderr_that_stops_stops_nothing_else(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        daemon = self.ketamad([self.memcached('s1')], preexec=lambda: os.dup2(writer, 2))
        os.close(writer)
        self.check_reader_that_stops(daemon, reader)

    def test_a_reader_of_a_fifo_that_stops_stops_nothing_else(self):
        fifo = os.path.join(self.temporary_directory(), 'log')
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        daemon = self.ketamad([self.memcached('s1')], proxy={'log': 'file:' + fifo})
        daemon.send_signal(signal.SIGUSR1)
        self.check_reader_that_stops(daemon, reader)

    def test_a_fifo_that_nobody_reads_is_told_at_the_start(self):
        fifo = os.path.join(self.temporary_directory(), 'log')
        os.mkfifo(fifo)
        daemon = self.ketamad(['127.0.0.1:1'], proxy={'log': 'file:' + fifo}, wait=False)
        daemon.expected_exit = 1
        self.assertEqual(daemon.process.wait(DEADLINE), 1)
        self.assertRegex(daemon.stderr(), 'cannot open the log')


@proxy_only
class TheClock(SystemCallsTest):
    @usable
    def test_jumps_of_the_wall_clock_change_nothing(self):
        self.start_all()
        with self.daemon.client() as client:
            for offset in (10 ** 7, -10 ** 9, 0, 86400):
                self.faults.set('wall_offset_s', offset)
                for i in range(20):
                    self.assertEqual(client.ask(b'set k%d 0 0 1\r\nx\r\n' % i), b'STORED\r\n')
                let_pass(0.3)
        stats = self.daemon.admin_stats()
        self.assertGreater(self.faults.get('wall_reads'), 0)
        self.assertEqual([stats[name] for name in ('timeouts', 'ejections', 'backend_failures')], ['0', '0', '0'])
        self.assertLess(int(stats['uptime']), 1000)

    def test_a_stop_of_some_seconds_ejects_nobody_and_answers_what_is_there(self):
        """As a virtual machine that is suspended: the servers' answers wait in the sockets."""
        servers = [self.memcached('s%d' % i) for i in range(1, 4)]
        daemon = self.ketamad(servers, pool={'request_timeout': '%dms' % (300 * TIME_FACTOR), 'probe_interval': '200ms',
                                             'probe_timeout': '%dms' % (300 * TIME_FACTOR), 'fall': 2})
        values = b''.join(b'VALUE k%d 0 5000\r\n%s\r\n' % (i, b'v' * 5000) for i in range(100))
        clients = [self.client(daemon.address) for _ in range(300 if ALL else 60)]
        clients[0].send(b''.join(b'set k%d 0 0 5000\r\n%s\r\n' % (i, b'v' * 5000) for i in range(100)))
        clients[0].barrier()
        for _ in range(4 if ALL else 2):
            for client in clients:
                client.send(b'get ' + b' '.join(b'k%d' % i for i in range(100)) + b'\r\n')
            os.kill(daemon.pid, signal.SIGSTOP)
            let_pass(1.2 * TIME_FACTOR)
            os.kill(daemon.pid, signal.SIGCONT)
            for client in clients:
                self.assertEqual(client.read_reply(), values + b'END\r\n')
        self.assertEqual(daemon.admin_stats()['ejections'], '0', daemon.stderr())
        self.assertEqual(daemon.admin_stats()['timeouts'], '0', daemon.stderr())

    def test_a_stop_of_the_servers_too_is_nobodys_failure(self):
        """As a machine that all are on: their answers come when they, too, go on."""
        servers = [self.memcached('s%d' % i) for i in (1, 2)]
        daemon = self.ketamad(servers, pool={'request_timeout': '%dms' % (600 * TIME_FACTOR), 'probe_interval': '0'})
        clients = [self.client(daemon.address) for _ in range(10)]
        for client in clients:
            self.assertEqual(client.ask(b'get warm%d\r\n' % id(client)), b'END\r\n')
        for server in servers:
            server.pause()
        for i, client in enumerate(clients):
            client.send(b'get k%d\r\n' % i)
        wait_until(lambda: daemon.admin_stats()['in_flight'] == '10', 0.3, 'the requests to be under way')
        os.kill(daemon.pid, signal.SIGSTOP)
        let_pass(1.5 * TIME_FACTOR)
        os.kill(daemon.pid, signal.SIGCONT)
        let_pass(0.1 * TIME_FACTOR)
        for server in servers:
            server.resume()
        for client in clients:
            self.assertEqual(client.read_reply(), b'END\r\n')


if __name__ == '__main__':
    main()
