"""Servers that fail as programs and networks do: a real memcached behind what can be broken.

Each has fail(how) and heal(), and what it holds while it fails it still holds afterwards, so that
a stale value can show. A fault is a name of FAULTS; fault_server(how) says which kind has it.
"""

import os
import signal
import socket
import subprocess
import threading

from harness import Memcached, ScriptedServer, connect_to, free_port, run_tool, spawn, wait_until

EXIT_MAX = 5  # seconds, of a memcached that was asked to end

GARBAGE = (b'garbage\r\n', b'\x00\xff\x01 \xfe' * 5 + b'\r\n', b'VALUE no-such-key 0 3\r\nabc\r\nEND\r\n',
           b'VALUE k1 0 99999999999999999999\r\n', b'\r\n', b'HDX\r\n' * 3, b'x' * 5000)


class Process(Memcached):
    """Fails as a process: 'kill', 'stop', 'restart'."""

    FAULTS = ('kill', 'stop', 'restart')

    def __init__(self, name, **options):
        self.fault = None
        super().__init__(name, **options)

    def fail(self, how):
        self.fault = how
        if how == 'stop':
            self.pause()
        elif how == 'kill':
            self.kill()
        else:
            self.process.terminate()
            try:
                self.process.wait(EXIT_MAX)
            except subprocess.TimeoutExpired:  # it joins threads on its way out, and may get stuck there
                self.kill()
            self.start()

    def heal(self):
        if self.fault == 'kill':
            self.start()
        elif self.fault == 'stop':
            self.resume()


class Relay(ScriptedServer):
    """Fails as a program that listens: 'refuse', 'mute' (accepts, never answers), 'garbage'.

    Passes everything on while it is well. A connection that failed once is never passed on again:
    it is closed when all is well, after the server behind has read and answered what it was sent,
    so that an end of it seen in front means that nothing of it can still take effect.
    """

    FAULTS = ('refuse', 'mute', 'garbage')

    def __init__(self, name):
        self.behind = Memcached(name)
        self.spoilt = []
        super().__init__(self._relay, name)

    def fail(self, how):
        self.mode = how
        if how == 'refuse':
            self.refuse()
            self.end_connections()

    def heal(self):
        if self.mode == 'refuse':
            self.accept()
        self.mode = None
        self.end_connections(self.spoilt)

    def end_connections(self, connections=None):
        with self.lock:
            ending = list(self.connections if connections is None else connections)
            self.spoilt = []
        for connection in ending:
            try:
                connection.sock.shutdown(socket.SHUT_RD)
            except OSError:
                pass

    def stop(self):
        super().stop()
        self.behind.stop()

    def _is_spoilt(self, connection):
        """Whether what comes now is kept back, and for good."""
        if self.mode in ('mute', 'garbage') and not getattr(connection, 'is_spoilt', False):
            connection.is_spoilt = True
            with self.lock:
                self.spoilt.append(connection)
        return getattr(connection, 'is_spoilt', False)

    def _relay(self, connection):
        upstream = connect_to(self.behind.address)
        upstream.settimeout(None)

        def back():
            while True:
                try:
                    piece = upstream.recv(1 << 17)
                except OSError:
                    return
                if not piece:
                    return
                if not self._is_spoilt(connection):
                    connection.send(piece)
        thread = threading.Thread(target=back, daemon=True)
        thread.start()
        count = 0
        while True:
            try:
                piece = connection.sock.recv(1 << 17)
            except OSError:
                break
            if not piece:
                break
            if not self._is_spoilt(connection):
                upstream.sendall(piece)
            elif self.mode == 'garbage':
                count += 1
                connection.send(GARBAGE[(connection.number + count) % len(GARBAGE)])
        try:
            upstream.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        thread.join()
        upstream.close()


class Remote(Memcached):
    """Fails as a network: 'black hole' (nothing arrives), 'lost replies' (nothing comes back).

    A network namespace of its own, joined by a pair of virtual links that end with its process.
    """

    FAULTS = ('black hole', 'lost replies')

    def __init__(self, name):
        number = free_port()
        self.links = 'kt%dp' % number, 'kt%ds' % number
        self.near = self._address(number, 1)
        self.far = self._address(number, 2)
        self.fault = None
        super().__init__(name, host=self.far)

    @staticmethod
    def _address(number, host):
        """Each number has four addresses of the block kept for tests of network devices."""
        whole = (198 << 24) + (18 << 16) + (number % 32768) * 4 + host
        return socket.inet_ntoa(whole.to_bytes(4, 'big'))

    @staticmethod
    def whats_missing():
        """Why there can be none here, or ''."""
        if os.geteuid() != 0:
            return 'needs root'
        for argv in (['unshare', '-n', 'true'], ['nsenter', '--version'], ['ip', '-V']):
            try:
                if run_tool(argv)[0] != 0:
                    return 'no network namespaces here'
            except OSError:
                return 'needs ' + argv[0]
        name = 'kt%dt' % free_port()
        if run_tool(['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', name + 'p'])[0] != 0:
            return 'no virtual links here'
        run_tool(['ip', 'link', 'del', name])
        return ''

    def start(self):
        """As Memcached's, within the namespace: it waits there until its link is up."""
        shell = 'read go; exec memcached -m 256 -t 1 -u root -U 0 -l %s -p %d' % (self.far, self.port)
        self.process = self.spawn_there(shell)
        near, far = self.links

        def is_apart():
            here, there = (os.readlink('/proc/%s/ns/net' % pid) for pid in ('self', self.process.pid))
            return here != there
        wait_until(is_apart, None, 'the namespace')
        self._run('ip link add %s type veth peer name %s netns %d' % (near, far, self.process.pid))
        self._run('ip addr add %s/30 dev %s' % (self.near, near))
        self._run('ip link set %s up' % near)
        self._run_there('ip link set lo up')
        self._run_there('ip addr add %s/30 dev %s' % (self.far, far))
        self._run_there('ip link set %s up' % far)
        for run, other, address, link in ((self._run, self._run_there, self.far, near),
                                          (self._run_there, self._run, self.near, far)):
            hardware = other('ip -o link show %s' % (far if link == near else near)).split('link/ether ')[1].split()[0]
            run('ip neigh replace %s lladdr %s dev %s nud permanent' % (address, hardware, link))
        self.process.stdin.write(b'go\n')
        self.process.stdin.flush()
        wait_until(self._is_up, None, 'memcached at ' + self.address)

    @staticmethod
    def spawn_there(shell):
        return spawn(['unshare', '-n', 'sh', '-c', shell], stdin=subprocess.PIPE,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def _run(command):
        code, out, error = run_tool(command.split())
        if code != 0:
            raise AssertionError('%s: %s' % (command, error.decode()))
        return out.decode()

    def _run_there(self, command):
        return self._run('nsenter -n -t %d %s' % (self.process.pid, command))

    def fail(self, how):
        self.fault = how
        if how == 'black hole':
            self._run_there('ip link set %s down' % self.links[1])
        else:
            self._run_there('ip route add blackhole %s/32' % self.near)

    def heal(self):
        if self.fault == 'black hole':
            self._run_there('ip link set %s up' % self.links[1])
        elif self.fault:
            self._run_there('ip route del blackhole %s/32' % self.near)
        self.fault = None

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        super().stop()
        self.process.stdin.close()
