"""What every proxy test stands on: real and scripted servers, the daemon, raw clients.

Everything started here listens on loopback, on a port or path nobody else uses, belongs to the
test that started it, and ends with it: also when the test fails, is interrupted or is killed.
No helper sleeps for a fixed time; each waits for a condition with a deadline.

Environment:
  KETAMAD           the daemon to test (build/release/ketamad)
  TEST_TIME_FACTOR  multiplies every deadline (for sanitizer builds); or TEST_SLOWNESS
  TEST_AGAINST      "memcached": one memcached stands in for the daemon, to check the tests
"""

import atexit
import ctypes
import functools
import json
import os
import pwd
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KETAMAD = os.environ.get('KETAMAD', os.path.join(ROOT, 'build', 'release', 'ketamad'))
KETAMACTL = os.path.join(os.path.dirname(KETAMAD), 'ketamactl')
TIME_FACTOR = float(os.environ.get('TEST_TIME_FACTOR') or os.environ.get('TEST_SLOWNESS') or 1)
AGAINST_MEMCACHED = os.environ.get('TEST_AGAINST') == 'memcached'

DEADLINE = 10 * TIME_FACTOR     # for anything that should happen at once
TEST_DEADLINE = 120 * TIME_FACTOR  # for one whole test
POLL = 0.002

SANITIZER_SIGNS = (
    'ERROR: AddressSanitizer',
    'ERROR: LeakSanitizer',
    'WARNING: ThreadSanitizer',
    'runtime error:',
    'Assertion `',
)


class Timeout(AssertionError):
    """A condition did not come true in time."""


def wait_until(condition, seconds=None, what='the condition'):
    """Polls condition until it returns something true, and returns that."""
    seconds = DEADLINE if seconds is None else seconds * TIME_FACTOR
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Timeout('waited %.1f s for %s' % (seconds, what))
        time.sleep(POLL)


# Ports ---------------------------------------------------------------------------------------

_reserved = {}


def let_pass(seconds):
    """For what can only be seen over a stretch of time."""
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() - begin >= seconds, seconds + 5, 'time to pass')


def free_port():
    """A port below the ephemeral range, reserved for this process while it lives.

    The reservation is an abstract unix socket, so that test processes running side by side
    never pick the same port, even for a server that is down for a while.
    """
    for _ in range(1000):
        port = random.randrange(10000, 32000)
        if port in _reserved:
            continue
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind('\0ketamad-test-port-%d' % port)
        except OSError:
            claim.close()
            continue
        if _port_is_free(port):
            _reserved[port] = claim
            return port
        claim.close()
    raise RuntimeError('no free port')


def _port_is_free(port):
    for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if family == socket.AF_INET6 and error.errno != 98:
                    continue  # a machine without IPv6
                return False
    return True


@functools.lru_cache(None)
def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(('::1', 0))
        return True
    except OSError:
        return False


def connect_to(address, timeout=None):
    """Connects to 'host:port', '[v6]:port' or 'unix:/path'."""
    timeout = DEADLINE if timeout is None else timeout
    if address.startswith('unix:'):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout)
        try:
            sock.connect(address[5:])
        except OSError:
            sock.close()
            raise
        return sock
    host, port = address.rsplit(':', 1)
    sock = socket.create_connection((host.strip('[]'), int(port)), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def is_readable(sock, seconds):
    """Waits for input or an end; select's limit on descriptors does not hold."""
    poller = select.poll()
    poller.register(sock, select.POLLIN)
    return bool(poller.poll(max(0, seconds) * 1000))


def accepts(address):
    try:
        connect_to(address, 1).close()
        return True
    except OSError:
        return False


# Files ---------------------------------------------------------------------------------------

_directories = set()


def make_directory():
    """A temporary directory that is gone when the process is."""
    path = tempfile.mkdtemp(prefix='ketamad-test-')
    _directories.add(path)
    return path


def remove_directory(path):
    shutil.rmtree(path, ignore_errors=True)
    _directories.discard(path)


@atexit.register
def _remove_directories():
    for path in list(_directories):
        remove_directory(path)


# Processes -----------------------------------------------------------------------------------

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(argv, **options):
    """Popen whose process is killed by the kernel when the test process dies."""
    return subprocess.Popen(argv, preexec_fn=_die_with_parent, **options)


def pause_process(pid):
    """SIGSTOP, and all of its threads stand still."""
    os.kill(pid, signal.SIGSTOP)

    def is_stopped(task):
        with open('/proc/%d/task/%s/stat' % (pid, task), encoding='ascii') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] == 'T'
    wait_until(lambda: all(is_stopped(task) for task in os.listdir('/proc/%d/task' % pid)), None, 'the process to stop')


def end_process(process, first_signal=signal.SIGKILL):
    if process.poll() is None:
        for number in (signal.SIGCONT, first_signal):
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                pass
    process.wait()


def run_tool(argv, stdin=b'', seconds=30):
    """Runs a program to its end and returns (exit code, stdout, stderr) as bytes."""
    done = subprocess.run(argv, input=stdin, capture_output=True, timeout=seconds * TIME_FACTOR,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def resident_kib(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as status:
        return int(re.search(r'VmRSS:\s+(\d+)', status.read()).group(1))


def open_descriptors(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def cpu_seconds(pid):
    """Processor time of all its threads, to the nanosecond."""
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        try:
            with open('/proc/%d/task/%s/schedstat' % (pid, task), encoding='ascii') as stat:
                total += int(stat.read().split()[0])
        except OSError:
            pass
    return total / 1e9


class Memcached:
    """A real memcached. address is what a server line or a client needs."""

    def __init__(self, name=None, host='127.0.0.1', unix=None, port=None, options=()):
        self.name = name
        self.options = list(options)
        self.process = None
        self.unix = unix
        self.host = host
        if unix:
            self.address = 'unix:' + unix
        else:
            self.port = port or free_port()
            bracketed = '[%s]' % host if ':' in host else host
            self.address = '%s:%d' % (bracketed, self.port)
        self.start()

    def start(self):
        argv = ['memcached', '-m', '256', '-t', '1', '-u', pwd.getpwuid(os.geteuid()).pw_name]
        if self.unix:
            if os.path.exists(self.unix):
                os.unlink(self.unix)
            argv += ['-s', self.unix, '-a', '0700']
        else:
            argv += ['-l', self.host, '-p', str(self.port), '-U', '0']
        self.process = spawn(argv + self.options, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._is_up, None, 'memcached at ' + self.address)

    def _is_up(self):
        if self.process.poll() is not None:
            raise AssertionError('memcached at %s exited with %s'
                                 % (self.address, self.process.returncode))
        return accepts(self.address)

    def kill(self):
        """Ends it as a crash would."""
        end_process(self.process)

    def restart(self):
        self.kill()
        self.start()

    def pause(self):
        """SIGSTOP: the kernel still accepts connections for it, nothing answers."""
        pause_process(self.process.pid)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self):
        end_process(self.process)

    def client(self):
        return Client(self.address)

    def ask(self, request):
        """One request on a connection of its own; the reply."""
        with self.client() as client:
            return client.ask(request)

    def stats(self, group=''):
        reply = self.ask(b'stats%s\r\n' % (b' ' + group.encode() if group else b''))
        return dict(line.split(' ', 2)[1:] for line in reply.decode().split('\r\n')
                    if line.startswith('STAT '))


class Connection:
    """One accepted connection of a ScriptedServer, in the hands of its behaviour."""

    def __init__(self, server, sock, number):
        self.server = server
        self.sock = sock
        self.number = number
        self.buffer = b''
        self.received = b''

    def fill(self):
        """Reads more; False at the end of the stream or once the server stops."""
        try:
            piece = self.sock.recv(65536)
        except OSError:
            piece = b''
        self.buffer += piece
        self.received += piece
        return bool(piece)

    def read_line(self):
        """The next line without its end, or None when the peer is gone."""
        while b'\n' not in self.buffer:
            if not self.fill():
                return None
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line.rstrip(b'\r')

    def read_exactly(self, size):
        while len(self.buffer) < size:
            if not self.fill():
                return None
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def requests(self, answer_version=True):
        """Yields (line, block) of each request; answers version itself, as probes send it."""
        while True:
            line = self.read_line()
            if line is None:
                return
            words = line.split()
            if answer_version and words[:1] == [b'version']:
                self.send(b'VERSION 1.6.18\r\n')
                continue
            block = None
            length = None
            if words and words[0] in (b'set', b'add', b'replace', b'append', b'prepend', b'cas'):
                length = int(words[4])
            elif words and words[0] == b'ms':
                length = int(words[2])
            if length is not None:
                block = self.read_exactly(length + 2)
                if block is None:
                    return
                block = block[:-2]
            self.server.note(line, block)
            yield line, block

    def send(self, data):
        try:
            self.sock.sendall(data)
            return True
        except OSError:
            return False

    def reset(self):
        """Closes with RST."""
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        except OSError:
            pass
        self.close()

    def close(self):
        self.sock.close()

    def wait_closed(self):
        """Records whatever comes until the peer closes."""
        while self.fill():
            pass

    def wait(self, seconds):
        """Lets time pass as a slow server does; ends early when the server is stopped."""
        self.server.stopping.wait(seconds)


class ScriptedServer:
    """A loopback server that does what its behaviour says, connection by connection.

    behaviour(connection) runs in a thread for each connection, and the connection is closed
    when it returns. It may be changed while running; it holds for connections made later, and
    a behaviour that reads self.mode holds at once. With port=None it listens at once; refuse()
    closes the listener, accept() opens it on the same port again.
    """

    def __init__(self, behaviour=None, name=None, host='127.0.0.1', port=None, receive_buffer=None):
        self.name = name
        self.receive_buffer = receive_buffer
        self.behaviour = behaviour or serve_items
        self.items = {}
        self.mode = None
        self.host = host
        self.port = port or free_port()
        self.address = '%s:%d' % (host, self.port)
        self.lock = threading.Lock()
        self.seen = []
        self.connections = []
        self.accepted = 0
        self.stopping = threading.Event()
        self.listener = None
        self.accept()

    def accept(self):
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        self.listener.bind((self.host, self.port))
        self.listener.listen(1024)
        threading.Thread(target=self._accept_loop, args=(self.listener,), daemon=True).start()

    def refuse(self):
        """From now on connections are refused; those open stay."""
        if self.listener:
            _shut(self.listener)
            self.listener = None
            wait_until(lambda: not accepts(self.address), None, 'the listener to close')

    def drop_connections(self, reset=False):
        with self.lock:
            connections, self.connections = self.connections, []
        for connection in connections:
            if reset:
                try:
                    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                               struct.pack('ii', 1, 0))
                except OSError:
                    pass
            _shut(connection.sock, close=not reset)
            if reset:
                connection.sock.close()

    def _accept_loop(self, listener):
        while not self.stopping.is_set():
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.accepted += 1
                connection = Connection(self, sock, self.accepted)
                self.connections.append(connection)
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection):
        try:
            self.behaviour(connection)
        except OSError:
            pass
        finally:
            connection.close()
            with self.lock:
                if connection in self.connections:
                    self.connections.remove(connection)

    def note(self, line, block):
        with self.lock:
            self.seen.append((line, block))

    def lines(self):
        """The request lines read so far, over all connections."""
        with self.lock:
            return [line for line, _ in self.seen]

    def asked(self, part):
        """How many request lines so far contain part."""
        return sum(part in line for line in self.lines())

    def open_connections(self):
        with self.lock:
            return len(self.connections)

    def stop(self):
        self.stopping.set()
        if self.listener:
            _shut(self.listener)
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            _shut(connection.sock)


def _shut(sock, close=True):
    """Wakes a thread that waits in accept or recv on the socket."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    if close:
        sock.close()


# Behaviours ----------------------------------------------------------------------------------

def answer_like_memcached(server, line, block):
    """A small honest server over server.items {key: (flags, value)}; the reply to one request."""
    words = line.split()
    if not words:
        return b'ERROR\r\n'
    command, keys = words[0], words[1:]
    items = server.items
    with server.lock:
        if command in (b'get', b'gets', b'gat', b'gats'):
            if command.startswith(b'gat'):
                keys = keys[1:]
            reply = b''
            for key in keys:
                if key in items:
                    flags, value = items[key]
                    cas = b' 1' if command.endswith(b's') else b''
                    reply += b'VALUE %s %s %d%s\r\n%s\r\n' % (key, flags, len(value), cas, value)
            return reply + b'END\r\n'
        if command in (b'set', b'add', b'replace', b'append', b'prepend', b'cas'):
            key = keys[0]
            present = key in items
            if (command == b'add' and present) or (not present and command in (
                    b'replace', b'append', b'prepend')):
                return b'NOT_STORED\r\n'
            old = items.get(key, (b'0', b''))[1]
            if command == b'append':
                block = old + block
            elif command == b'prepend':
                block = block + old
            items[key] = (keys[1], block)
            return b'STORED\r\n'
        if command == b'delete':
            return b'DELETED\r\n' if items.pop(keys[0], None) else b'NOT_FOUND\r\n'
        if command in (b'incr', b'decr'):
            if keys[0] not in items:
                return b'NOT_FOUND\r\n'
            flags, value = items[keys[0]]
            number = int(value) + (1 if command == b'incr' else -1) * int(keys[1])
            items[keys[0]] = (flags, b'%d' % max(0, number))
            return b'%d\r\n' % max(0, number)
        if command == b'touch':
            return b'TOUCHED\r\n' if keys[0] in items else b'NOT_FOUND\r\n'
        if command == b'flush_all':
            items.clear()
            return b'OK\r\n'
        if command == b'mg':
            if keys[0] not in items:
                return b'EN\r\n'
            if b'v' not in keys[1:]:
                return b'HD\r\n'
            value = items[keys[0]][1]
            return b'VA %d\r\n%s\r\n' % (len(value), value)
        if command == b'ms':
            items[keys[0]] = (b'0', block)
            opaque = b''.join(b' ' + word for word in keys[2:] if word[:1] == b'O')
            return b'HD%s\r\n' % opaque
        if command == b'md':
            return b'HD\r\n' if items.pop(keys[0], None) else b'NF\r\n'
        if command == b'mn':
            return b'MN\r\n'
        if command == b'version':
            return b'VERSION 1.6.18\r\n'
        if command == b'stats':
            return b'STAT pid 1\r\nSTAT uptime 100\r\nSTAT version 1.6.18\r\nEND\r\n'
    return b'ERROR\r\n'


def serve_items(connection):
    """The default behaviour. mode 'hang' reads and never answers; see answers for others."""
    server = connection.server
    for line, block in connection.requests():
        if server.mode == 'hang':
            connection.wait_closed()
            return
        connection.send(answer_like_memcached(server, line, block))


def never_answer(connection):
    """Accepts, reads, says nothing: not even to a probe."""
    for _ in connection.requests(answer_version=False):
        pass


def answer(reply):
    """A behaviour: the same bytes to every request."""
    def behave(connection):
        for _ in connection.requests():
            connection.send(reply)
    return behave


def answer_then_reset(reply):
    """A behaviour: these bytes to the first request, then RST."""
    def behave(connection):
        for _ in connection.requests():
            connection.send(reply)
            connection.reset()
            return
    return behave


def answer_then_hang(reply):
    """A behaviour: these bytes to the first request, then nothing ever."""
    def behave(connection):
        for _ in connection.requests():
            connection.send(reply)
            connection.wait_closed()
            return
    return behave


def answer_after(seconds):
    """A behaviour: honest, but each answer that much later."""
    def behave(connection):
        for line, block in connection.requests():
            connection.wait(seconds * TIME_FACTOR)
            connection.send(answer_like_memcached(connection.server, line, block))
    return behave


# Clients -------------------------------------------------------------------------------------

STORED, END = b'STORED\r\n', b'END\r\n'


class Client:
    """A raw client connection."""

    def __init__(self, address, timeout=None, sock=None):
        self.timeout = DEADLINE if timeout is None else timeout
        self.sock = sock or connect_to(address, self.timeout)
        self.buffer = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def send_pieces(self, data, size):
        """Sends in pieces of that many bytes, each a write of its own."""
        for start in range(0, len(data), size):
            self.sock.sendall(data[start:start + size])

    def finish_sending(self):
        self.sock.shutdown(socket.SHUT_WR)

    def _fill(self, end):
        if not is_readable(self.sock, end - time.monotonic()):
            raise Timeout('no reply within the deadline; so far: %r' % self.buffer[-300:])
        try:
            piece = self.sock.recv(1 << 18)
        except ConnectionResetError:
            piece = b''
        self.buffer += piece
        return bool(piece)

    def read_exactly(self, size):
        end = time.monotonic() + self.timeout
        while len(self.buffer) < size:
            if not self._fill(end):
                raise EOFError('closed after %r, %d bytes were due' % (self.buffer[-300:], size))
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def read_line(self):
        """The next line, its end included."""
        end = time.monotonic() + self.timeout
        start = 0
        while True:
            at = self.buffer.find(b'\n', start)
            if at >= 0:
                line, self.buffer = self.buffer[:at + 1], self.buffer[at + 1:]
                return line
            start = len(self.buffer)
            if not self._fill(end):
                raise EOFError('closed after %r, a line was due' % self.buffer[-300:])

    def read_reply(self):
        """One whole reply: VALUE blocks to END, STAT lines to END, VA with its block, or a line."""
        pieces = []
        while True:
            line = self.read_line()
            pieces.append(line)
            words = line.split()
            if words[:1] == [b'VALUE']:
                pieces.append(self.read_exactly(int(words[3]) + 2))
            elif words[:1] == [b'VA']:
                pieces.append(self.read_exactly(int(words[1]) + 2))
                break
            elif words[:1] != [b'STAT'] and words[:1] != [b'ITEM']:
                break
        return b''.join(pieces)

    def read_until_closed(self):
        """Everything until the peer closes."""
        end = time.monotonic() + self.timeout
        while self._fill(end):
            pass
        data, self.buffer = self.buffer, b''
        return data

    def ask(self, request):
        self.send(request)
        return self.read_reply()

    def has_input(self):
        return bool(self.buffer) or is_readable(self.sock, 0)

    def barrier(self):
        """Waits for every answer due, by a sentinel behind them, and returns them without it.

        It is answered by the proxy itself, so no server need be up for it, and no test sends
        the like.
        """
        self.send(b'mn\r\n\r\n' * 4)
        last = b'MN\r\nERROR\r\n' * 4
        end = time.monotonic() + self.timeout
        while not self.buffer.endswith(last):
            if not self._fill(end):
                raise EOFError('closed after %r, the sentinel was due' % self.buffer[-300:])
        data, self.buffer = self.buffer[:-len(last)], b''
        return data

    def is_closed_by_peer(self):
        """True once the peer has closed and nothing is left to read."""
        if self.buffer or not is_readable(self.sock, 0):
            return False
        try:
            piece = self.sock.recv(65536)
        except ConnectionResetError:
            return True
        self.buffer += piece
        return not piece

    def wait_closed(self, seconds=None):
        wait_until(self.is_closed_by_peer, seconds, 'the connection to be closed')


# The daemon ----------------------------------------------------------------------------------

def server_line(server):
    if isinstance(server, str):
        return server
    return server.address + (' name=' + server.name if server.name else '')


class Ketamad:
    """The daemon over servers, with a configuration of its own in a directory of its own.

    pool and proxy are dicts of further keys for the sections; a list as value repeats the key.
    text replaces the whole file; {listen}, {admin} and {dir} are filled in.
    """

    def __init__(self, servers=(), pool=None, proxy=None, text=None, listens=None, wait=True,
                 environment=None, preexec=None):
        self.directory = make_directory()
        self.conf = os.path.join(self.directory, 'ketama.conf')
        self.listens = listens or ['127.0.0.1:%d' % free_port()]
        self.address = self.listens[0].split(' ')[0]
        self.admin_address = '127.0.0.1:%d' % free_port()
        self.servers = list(servers)
        self.pool = dict(pool or {})
        self.proxy = dict(proxy or {})
        self.text = text
        self.environment = environment
        self.preexec = preexec
        self.process = None
        self.expected_exit = 0
        self.stderr_path = os.path.join(self.directory, 'stderr')
        self.write_conf()
        self.start(wait)

    def render(self):
        if self.text is not None:
            return (self.text.replace('{listen}', self.address)
                    .replace('{admin}', self.admin_address).replace('{dir}', self.directory))
        lines = ['[proxy]', 'admin = ' + self.admin_address]
        proxy = {'workers': 2}
        proxy.update(self.proxy)
        pool = dict(self.pool)
        if TIME_FACTOR > 1:  # a slow build's own pace is no failure of a server
            proxy.setdefault('drain_timeout', '%ds' % (10 * TIME_FACTOR))
            pool.setdefault('request_timeout', '%dms' % (1000 * TIME_FACTOR))
        lines += _key_lines(proxy)
        lines += ['', '[pool main]']
        lines += ['listen = ' + listen for listen in self.listens]
        lines += _key_lines(pool)
        lines += ['server = ' + server_line(server) for server in self.servers]
        return '\n'.join(lines) + '\n'

    def write_conf(self, text=None):
        new = self.conf + '.new'
        with open(new, 'w', encoding='utf-8') as conf:
            conf.write(self.render() if text is None else text)
        os.replace(new, self.conf)

    def start(self, wait=True):
        if AGAINST_MEMCACHED:
            return self._start_stand_in()
        if not os.access(KETAMAD, os.X_OK):
            raise unittest.SkipTest('no daemon at ' + KETAMAD)

        def prepare():
            _die_with_parent()
            if self.preexec:
                self.preexec()
        environment = dict(os.environ, **(self.environment or {}))
        with open(self.stderr_path, 'ab') as stderr:
            self.process = subprocess.Popen([KETAMAD, '-c', self.conf], stdin=subprocess.DEVNULL,
                                            stdout=stderr, stderr=stderr, preexec_fn=prepare,
                                            env=environment)
        if wait:
            wait_until(self._is_up, None, 'ketamad to accept')
        return None

    def _start_stand_in(self):
        argv = ['memcached', '-m', '256', '-t', '1', '-u', pwd.getpwuid(os.geteuid()).pw_name]
        if self.address.startswith('unix:'):
            argv += ['-s', self.address[5:]]
        else:
            host, port = self.address.rsplit(':', 1)
            argv += ['-l', host.strip('[]'), '-p', port, '-U', '0']
        with open(self.stderr_path, 'ab') as stderr:
            self.process = spawn(argv, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        wait_until(self._is_up, None, 'the stand-in to accept')

    def _is_up(self):
        if self.process.poll() is not None:
            raise AssertionError('ketamad exited with %s at start:\n%s'
                                 % (self.process.returncode, self.stderr()))
        return accepts(self.address)

    @property
    def pid(self):
        return self.process.pid

    def stderr(self):
        with open(self.stderr_path, encoding='utf-8', errors='replace') as stderr:
            return stderr.read()

    def log_has(self, pattern):
        return re.search(pattern, self.stderr())

    def client(self, timeout=None):
        return Client(self.address, timeout)

    def ask(self, request):
        with self.client() as client:
            return client.ask(request)

    def send_signal(self, number):
        os.kill(self.process.pid, number)

    def reload(self, text=None):
        """Writes the configuration anew and sends SIGHUP; does not wait for the effect."""
        self.write_conf(text)
        self.send_signal(signal.SIGHUP)

    def admin(self, command):
        """Sends one admin command; the answer's lines without the closing END or OK."""
        with Client(self.admin_address) as client:
            client.send(command.encode() + b'\r\n')
            lines = []
            while True:
                line = client.read_line().decode('utf-8', 'replace').rstrip('\r\n')
                if line in ('END', 'OK'):
                    return lines
                lines.append(line)
                if re.match(r'(ERROR|CLIENT_ERROR|SERVER_ERROR|VERSION)\b', line):
                    return lines

    def admin_stats(self, group=''):
        return dict(line.split(' ', 2)[1:] for line in self.admin(('stats ' + group).strip())
                    if line.startswith('STAT ') and line.count(' ') >= 2)

    def members(self):
        """{name: {field: text}} of the admin port's servers, the address as 'address'."""
        members = {}
        for line in self.admin('servers'):
            words = re.match(r'SERVER (\S+)/(\S+) (\S+) (.*)', line)
            if words:
                fields = dict(re.findall(r'(\w+)=("[^"]*"|\S*)', words.group(4)))
                fields = {name: text.strip('"') for name, text in fields.items()}
                members[words.group(2)] = dict(fields, address=words.group(3))
        return members

    def state(self, name):
        return self.members()[name]['state']

    def wait_state(self, name, state, seconds=None):
        wait_until(lambda: self.state(name) == state, seconds, '%s to be %s' % (name, state))

    def admin_sum(self, pattern):
        """The sum of all numeric counters whose names match."""
        total = 0
        for name, value in self.admin_stats().items():
            if re.search(pattern, name) and re.fullmatch(r'-?\d+', value):
                total += int(value)
        return total

    def terminate(self, number=signal.SIGTERM, seconds=20):
        """Asks it to stop; returns its exit code."""
        if self.process.poll() is None:
            self.send_signal(number)
        try:
            return self.process.wait(seconds * TIME_FACTOR)
        except subprocess.TimeoutExpired:
            raise Timeout('ketamad did not stop within %g s of signal %d:\n%s'
                          % (seconds, number, self.stderr())) from None

    def complaints(self):
        """What is wrong with how it ran, as text; empty when nothing is."""
        if AGAINST_MEMCACHED:
            return ''
        text = self.stderr()
        found = []
        code = self.process.poll()
        if code is not None and code != self.expected_exit:
            found.append('ketamad exited with %s' % code)
        for sign in SANITIZER_SIGNS:
            if sign in text:
                found.append('ketamad printed "%s"' % sign)
        return '; '.join(found)

    def stop(self):
        """Ends it; raises when it did not run or end as it should."""
        try:
            if AGAINST_MEMCACHED:
                end_process(self.process)
                return
            trouble = self.complaints()
            if self.process.poll() is None:
                self.proxy_stop()
                trouble = trouble or self.complaints()
            if trouble:
                raise AssertionError('%s; its log:\n%s' % (trouble, self.stderr()[-20000:]))
        finally:
            end_process(self.process)
            remove_directory(self.directory)

    def proxy_stop(self):
        """SIGTERM; a second one after a while, so that a slow drain does not hide a clean exit."""
        self.send_signal(signal.SIGTERM)
        try:
            self.process.wait(0.5 * TIME_FACTOR)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGTERM)
            self.terminate()


def _key_lines(keys):
    lines = []
    for key, value in keys.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            lines.append('%s = %s' % (key, one))
    return lines


# What the daemon can do ----------------------------------------------------------------------

@functools.lru_cache(None)
def admin_help():
    if AGAINST_MEMCACHED or not os.access(KETAMAD, os.X_OK):
        return ''
    daemon = Ketamad(['127.0.0.1:%d' % free_port()])
    try:
        return '\n'.join(daemon.admin('help'))
    finally:
        end_process(daemon.process)
        remove_directory(daemon.directory)


def has_admin(command):
    """True where the admin port's help lists the command."""
    return re.search(r'^\W*%s\b' % re.escape(command), admin_help(), re.M) is not None


proxy_only = unittest.skipIf(AGAINST_MEMCACHED, 'says what a proxy does, not memcached')


# Load ----------------------------------------------------------------------------------------

CHECKLOAD = os.environ.get('CHECKLOAD') or next(
    (path for path in (os.path.join(os.path.dirname(os.path.abspath(KETAMAD)), 'tests/load/checkload'),
                       os.path.join(ROOT, 'build/release/tests/load/checkload'))
     if os.access(path, os.X_OK)), '')


class Load:
    """checkload, running until it is ended; result() gives what it found."""

    def __init__(self, address, *options, clients=50, strict=True, seconds=600):
        if not CHECKLOAD:
            raise unittest.SkipTest('checkload is not built: make test-programs')
        argv = [CHECKLOAD, '--connect', address, '--clients', str(clients), '--seconds', str(seconds)]
        argv += ['--timeout-ms', str(int(5000 * TIME_FACTOR))]
        argv += ['--strict'] if strict else []
        self.process = spawn(argv + [str(option) for option in options], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)

    def so_far(self):
        """Its counts up to now."""
        self.process.send_signal(signal.SIGUSR1)
        if not is_readable(self.process.stdout, 30 * TIME_FACTOR):
            raise Timeout('checkload says nothing')
        return json.loads(self.process.stdout.readline())

    def result(self):
        """Ends it and returns its counts."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=30 * TIME_FACTOR)
        if not out:
            raise AssertionError('checkload: ' + err.decode())
        return json.loads(out)

    def stop(self):
        end_process(self.process)
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()


def wrongs(counts):
    """What must never be, of a Load's result; empty when nothing was."""
    return {name: counts[name] for name in ('wrong_key', 'corrupt', 'stale', 'protocol', 'hung')
            if counts[name]}


def failures(counts):
    """Requests answered by an error or not at all."""
    return sum(counts[name]['failed'] + counts[name]['lost'] for name in ('get', 'set', 'delete'))


# Tests ---------------------------------------------------------------------------------------

class ProxyTest(unittest.TestCase):
    """A test that owns what it starts. self.start(thing) makes anything with stop() end with it."""

    maxDiff = None

    def setUp(self):
        self.daemons = []
        self._logs = []
        self._alarm_before = signal.signal(signal.SIGALRM, self._too_long)
        signal.setitimer(signal.ITIMER_REAL, TEST_DEADLINE)
        self.addCleanup(self._end_alarm)

    def _end_alarm(self):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._alarm_before)

    @staticmethod
    def _too_long(*_):
        raise Timeout('the test ran for more than %g s' % TEST_DEADLINE)

    def start(self, thing):
        self.addCleanup(thing.stop)
        return thing

    def client(self, address):
        client = Client(address)
        self.addCleanup(client.close)
        return client

    def memcached(self, name=None, **options):
        return self.start(Memcached(name, **options))

    def scripted(self, behaviour=None, name=None, **options):
        return self.start(ScriptedServer(behaviour, name, **options))

    def ketamad(self, servers=(), **options):
        daemon = self.start(Ketamad(servers, **options))
        self.daemons.append(daemon)
        return daemon

    def black_hole(self):
        """An address that accepts no connection and refuses none: its backlog is full."""
        listener = socket.socket()
        self.addCleanup(listener.close)
        listener.bind(('127.0.0.1', 0))
        listener.listen(0)
        for _ in range(4):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            try:
                filler.connect(listener.getsockname())
            except BlockingIOError:
                pass
        return '127.0.0.1:%d' % listener.getsockname()[1]

    def load(self, daemon, *options, **keywords):
        return self.start(Load(daemon.address, *options, **keywords))

    def pool_of(self, count=3, memcached=None, **options):
        """(daemon, servers): the daemon over that many real servers named s1, s2, ..."""
        if AGAINST_MEMCACHED:
            return self.ketamad([], **options), []
        servers = [self.memcached('s%d' % (i + 1), **(memcached or {})) for i in range(count)]
        return self.ketamad(servers, **options), servers

    def temporary_directory(self):
        path = make_directory()
        self.addCleanup(remove_directory, path)
        return path

    def equal_bytes(self, got, right, request):
        """As assertEqual, but shows only what lies around the first difference."""
        if got != right:
            at = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b),
                      min(len(got), len(right)))
            start = max(0, at - 80)
            self.fail('to %r\nat byte %d: got  %r\nshould be: %r'
                      % (request[:200], at, got[start:at + 160], right[start:at + 160]))

    def answers(self, client, request, reply):
        """Sends, and takes exactly these bytes as the answer, with nothing behind them."""
        client.send(request)
        self.equal_bytes(client.barrier(), reply, request)

    def logs(self):
        """The ends of the daemons' logs, for a failure's report."""
        return ''.join("\n--- the end of ketamad's log:\n" + text for text in self._logs)

    def tearDown(self):
        self._logs = [daemon.stderr()[-4000:] for daemon in self.daemons]


class SameTest(ProxyTest):
    """A test that compares the daemon over three servers with one memcached, byte for byte."""

    def setUp(self):
        super().setUp()
        self.reference = self.memcached()
        self.daemon, self.servers = self.pool_of(3, pool={'request_timeout': '20s'})

    def same(self, request, reply=None):
        """Both give the same bytes, and those of reply if given; returns them."""
        with self.reference.client() as one, self.daemon.client() as other:
            one.send(request)
            other.send(request)
            right, got = one.barrier(), other.barrier()
        self.equal_bytes(got, right, request)
        if reply is not None:
            self.equal_bytes(right, reply, request)
        return got


@functools.lru_cache(None)
def placement_of_names(names, count=3000):
    """{name: [keys]}: which of the keys k0, k1, ... the default placement gives to each name.

    The native placement depends on names alone, so this holds for any servers of these names.
    """
    servers = [Memcached(name) for name in names]
    daemon = Ketamad(servers)
    try:
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(count)))
            client.barrier()
        owned = {}
        for server in servers:
            with server.client() as client:
                client.send(b''.join(b'mg k%d k\r\n' % i for i in range(count)))
                lines = client.barrier().split(b'\r\n')
            owned[server.name] = [line[4:] for line in lines if line.startswith(b'HD k')]
        assert sum(map(len, owned.values())) == count, {n: len(k) for n, k in owned.items()}
        return owned
    finally:
        for server in servers:
            server.stop()
        end_process(daemon.process)
        remove_directory(daemon.directory)


def keys_of(name, names=('s1', 's2', 's3')):
    """Keys that the default placement over names gives to name."""
    return placement_of_names(tuple(names))[name]


def main():
    unittest.main(module='__main__')


if __name__ == '__main__':
    sys.exit('this file holds no tests; run tests/run_proxy.py')
