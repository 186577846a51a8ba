"""The processes of a bench: memcached servers, the proxies in front of them, the load generator.

Everything listens on the loopback, on free ports, and is ended with the Bench that started it.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import time

SERVERS = 3
MEMORY_MB = 256


class BenchError(Exception):
    """Something that ends the bench with one line."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(question, seconds, what):
    deadline = time.monotonic() + seconds
    while not question():
        if time.monotonic() > deadline:
            raise BenchError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def accepts(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as conn:
            conn.sendall(b"get bench-is-up\r\n")
            return conn.recv(100) == b"END\r\n"
    except OSError:
        return False


def status_kb(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0


def parse_peer(peer, options):
    """The name, workers and program of ketamad[:WORKERS][@PROGRAM] or another peer's name."""
    programs = {"ketamad": options.ketamad, "nutcracker": options.nutcracker,
                "memcached": options.memcached, "floor": options.floor}
    form = re.fullmatch(r"(\w+)(?::(\d+))?(?:@(.+))?", peer)
    if not form or form[1] not in programs or (form[1] != "ketamad" and (form[2] or form[3])):
        raise BenchError(f"--peers: {peer} is none of ketamad[:WORKERS][@PROGRAM], nutcracker, "
                         "memcached, floor")
    program = form[3] or programs[form[1]]
    if not os.access(program, os.X_OK):
        raise BenchError(f"{peer}: no program {program} (see --help, or leave it out of --peers)")
    return form[1], int(form[2] or 1), program


class Daemon:
    """A process started here, pinned to cores, listening on a port of the loopback."""

    def __init__(self, name, command, port, cores, log):
        self.name = name
        self.port = port
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=lambda: os.sched_setaffinity(0, cores))
        try:
            wait_until(lambda: self.process.poll() is not None or accepts(port), 10, name)
            if self.process.poll() is not None:
                raise BenchError(f"{name} ended at once, see {log}")
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self.process.pid

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.stack = contextlib.ExitStack()
        cores = sorted(os.sched_getaffinity(0))
        self.all_cores = set(cores)
        self.proxy_cores = {cores[-1]}
        self.other_cores = {cores[-1]}
        if options.own_core:
            if len(cores) < 2:
                raise BenchError("--own-core: there is one core only")
            self.other_cores = set(cores[:-1])
        self.servers = []
        self.prefix = []  # of the command of a peer: a tool to run it under

    def path(self, name):
        return os.path.join(self.folder, name)

    def keep(self, daemon):
        self.stack.callback(daemon.stop)
        return daemon

    def start_memcached(self, name, cores, prefix=()):
        port = free_port()
        command = [*prefix, self.options.memcached, "-l", "127.0.0.1", "-p", str(port), "-U", "0",
                   "-t", "1", "-m", str(MEMORY_MB), "-c", "15000"]
        if os.getuid() == 0:
            command += ["-u", "root"]
        return Daemon(name, command, port, cores, self.path(name + ".log"))

    def start_servers(self):
        for i in range(SERVERS):
            self.servers.append(
                self.keep(self.start_memcached(f"memcached-{i + 1}", self.other_cores)))

    def start_ketamad(self, workers, program):
        port = free_port()
        config = self.path("ketama.conf")
        with open(config, "w", encoding="ascii") as out:
            out.write(f"[proxy]\nworkers = {workers}\nmax_clients = 15000\n\n"
                      f"[pool bench]\nlisten = 127.0.0.1:{port}\n"
                      f"placement = {self.options.placement}\n")
            if self.options.key_hash:
                out.write(f"key_hash = {self.options.key_hash}\n")
            for server in self.servers:
                out.write(f"server = {server.address}\n")
        return Daemon("ketamad", self.prefix + [program, "-c", config], port, self.proxy_cores,
                      self.path("ketamad.log"))

    def start_nutcracker(self):
        port = free_port()
        config = self.path("nutcracker.yml")
        with open(config, "w", encoding="ascii") as out:
            out.write(f"bench:\n  listen: 127.0.0.1:{port}\n  hash: fnv1a_64\n"
                      "  distribution: ketama\n  server_connections: 1\n  preconnect: true\n"
                      "  servers:\n")
            for server in self.servers:
                out.write(f"   - {server.address}:1\n")
        command = self.prefix + [self.options.nutcracker, "-v", "4",
                                 "-o", self.path("nutcracker.log"),
                                 "-c", config, "-a", "127.0.0.1", "-s", str(free_port())]
        return Daemon("nutcracker", command, port, self.proxy_cores, self.path("nutcracker.out"))

    def start_floor(self):
        port = free_port()
        command = self.prefix + [self.options.floor, str(port)]
        command += [str(server.port) for server in self.servers]
        return Daemon("floor", command, port, self.proxy_cores, self.path("floor.out"))

    def start_peer(self, peer):
        name, workers, program = parse_peer(peer, self.options)
        if name == "floor":
            return self.start_floor()
        if name == "ketamad":
            return self.start_ketamad(workers, program)
        if name == "nutcracker":
            return self.start_nutcracker()
        return self.start_memcached("memcached-alone", self.proxy_cores, self.prefix)

    def load_command(self, address, arguments):
        return [self.options.load, "--json", "--address", address] + arguments

    def start_load(self, address, arguments, cores=None):
        return subprocess.Popen(
            self.load_command(address, arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, cores or self.other_cores))

    def run_load(self, address, arguments, seconds=120):
        load = self.start_load(address, arguments)
        try:
            text = load.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired as late:
            raise BenchError("the load generator did not end") from late
        finally:
            if load.poll() is None:
                load.kill()
                load.wait()
        try:
            report = json.loads(text)
        except ValueError as bad:
            raise BenchError("the load generator made no report") from bad
        return report

    def hold_load(self, address, arguments):
        """A load whose connections stay after its report, until finish_load."""
        load = self.start_load(address, arguments + ["--hold"])
        report = json.loads(load.stdout.readline())
        return load, report

    @staticmethod
    def finish_load(load):
        load.stdin.close()
        load.wait(30)
        load.stdout.close()
