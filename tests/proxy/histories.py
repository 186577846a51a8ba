"""Random histories: clients that write, read and remember what a read may still give.

A key is written by one client only, each write has a number that no earlier one of the key had,
and its value tells the numbers that made it. So what the last acknowledged write or delete
forbids is known to every read that is sent after it. A write that was answered with an error, or
not at all, may or may not have happened. A miss is always allowed.

Two kinds of keys: t<n> holds "number,number,...", the number of the write that made it and those
of what was appended or prepended since; c<n> holds a number that only grows.
"""

import collections
import random
import select
import time

from harness import connect_to

HUNG_SECONDS = 10


class Stale(AssertionError):
    """A reply that the history forbids."""


class Key:
    """What is known of one key."""

    def __init__(self, name, owner):
        self.name = name
        self.owner = owner
        self.is_counter = name.startswith(b'c')
        self.issued = 0      # the last number given out; of a counter the most it can hold
        self.floor = 0       # the owner's last acknowledged write: older than this no read may be ...
        self.added = ()      # ... and where it is of this very write, it must hold these
        self.flushed = 0     # nor older than this, by anybody's flush_all
        self.cas = None
        self.trace = collections.deque(maxlen=80)

    def bound(self):
        return self.floor, self.added, self.flushed

    def acknowledge(self, number):
        self.floor, self.added = number, ()

    def wrong(self, text, bound):
        """What is wrong with a value read under that bound; '' where nothing is."""
        floor, added, flushed = bound
        try:
            numbers = [int(part) for part in text.split(b',')]
        except ValueError:
            return 'no such value'
        if max(numbers) > self.issued:
            return 'never written'
        if self.is_counter:
            return '' if numbers[0] >= max(floor, flushed) else 'older than %d, %d' % (floor, flushed)
        made = min(numbers)
        if made < max(floor, flushed):
            return 'older than %d, %d' % (floor, flushed)
        if made == floor and not set(added) <= set(numbers):
            return 'without %s' % sorted(set(added) - set(numbers))
        return ''


class Asked:
    """A request under way: done(words, values) takes its answer."""

    def __init__(self, text, done, keys=(), is_retrieval=False):
        self.text = text
        self.done = done
        self.keys = keys
        self.is_retrieval = is_retrieval
        self.since = time.monotonic()


class HistoryClient:
    def __init__(self, history, number):
        self.history = history
        self.number = number
        self.waiting = collections.deque()
        self.buffer = b''
        self.sock = connect_to(history.address)

    def ask(self, *requests):
        for one in requests:
            if one.done:
                self.waiting.append(one)
        self.sock.sendall(b''.join(one.text for one in requests))

    def read(self):
        piece = self.sock.recv(1 << 16)
        if not piece:
            raise Stale('client %d was closed; %r was due' % (self.number, [one.text for one in self.waiting]))
        self.buffer += piece
        while self.waiting and self.take():
            pass
        if self.buffer and not self.waiting:
            raise Stale('client %d was sent %r, nobody asked' % (self.number, self.buffer))

    def take(self):
        """Takes one whole reply; False where more has to come."""
        at, values = 0, []
        asked = self.waiting[0]
        while True:
            end = self.buffer.find(b'\r\n', at)
            if end < 0:
                return False
            words = self.buffer[at:end].split(b' ')
            at = end + 2
            if words[0] not in (b'VALUE', b'VA'):
                break
            size = int(words[3 if words[0] == b'VALUE' else 1])
            if len(self.buffer) < at + size + 2:
                return False
            name = words[1] if words[0] == b'VALUE' else asked.keys[0].name
            values.append((name, self.buffer[at:at + size], words[4] if len(words) > 4 else None))
            at += size + 2
            if words[0] == b'VA':
                break
        self.buffer = self.buffer[at:]
        self.waiting.popleft()
        self.history.replies += 1
        for key in asked.keys:
            key.trace.append('%.4f client %d: %r -> %r' % (time.monotonic() - self.history.began, self.number,
                                                         asked.text[:60], (values or b' '.join(words))))
        if words[0] == b'SERVER_ERROR':
            self.history.errors[b' '.join(words)] += 1
        asked.done(words, values)
        return True


class History:
    """Clients against address, for as long as run is told; raises Stale."""

    WRITES = ('set', 'set', 'set', 'delete', 'append', 'prepend', 'add', 'replace', 'cas', 'ms', 'md', 'set noreply',
              'delete noreply', 'touch')
    COUNTER_WRITES = ('incr', 'incr', 'incr', 'set', 'delete', 'incr noreply', 'ma', 'add', 'touch')

    def __init__(self, address, seed, clients=12, keys=96, flushes=True):
        self.address = address
        self.choose = random.Random(seed)
        self.began = time.monotonic()
        self.clients = [HistoryClient(self, number) for number in range(clients)]
        self.keys = [Key(b'%s%d' % (b'c' if n % 3 == 0 else b't', n), self.clients[n // 3 % clients])
                     for n in range(keys)]
        self.own = {client: [key for key in self.keys if key.owner is client] for client in self.clients}
        self.by_name = {key.name: key for key in self.keys}
        self.flushes = flushes
        self.replies = self.reads = self.hits = self.flushed = 0
        self.errors = collections.Counter()

    # Requests, each with what its answer means

    def read(self, client):
        keys = self.choose.sample(self.keys, self.choose.choice((1, 1, 1, 2, 5)))
        if self.choose.random() < 0.3:
            keys[0] = self.choose.choice(self.own[client])
        bounds = {key.name: key.bound() for key in keys}

        def done(words, values):
            if words[0] not in (b'END', b'SERVER_ERROR', b'EN', b'VA'):
                raise Stale('%r to %r' % (words, text))
            self.reads += len(keys)
            for name, value, unique in values:
                key = self.by_name.get(name)
                if key not in keys:
                    raise Stale('%r to %r' % (name, text))
                self.hits += 1
                bound = bounds[name]
                if key.owner is client:  # its own writes were acknowledged, in order, before this reply
                    bound = key.floor, key.added, bound[2]
                wrong = key.wrong(value, bound)
                if wrong:
                    raise Stale('%r of %r is %s' % (value, name, wrong))
                if unique is not None and key.owner is client:
                    key.cas = unique
        names = b' '.join(key.name for key in keys)
        way = self.choose.random()
        if len(keys) == 1 and way < 0.15:
            text = b'mg %s v\r\n' % names
        elif way < 0.25:
            text = b'gat 0 %s\r\n' % names
        elif way < 0.4:
            text = b'gets %s\r\n' % names
        else:
            text = b'get %s\r\n' % names
        return Asked(text, done, keys, True)

    def flush(self):
        floors = [(key, key.floor) for key in self.keys]

        def done(words, _):
            if words[0] == b'OK':
                self.flushed += 1
                for key, floor in floors:
                    key.flushed = max(key.flushed, floor + 1)
        for key in self.keys:
            key.trace.append('%.4f flush_all' % (time.monotonic() - self.began))
        return Asked(b'flush_all\r\n', done, self.keys)

    def write(self, client):
        key = self.choose.choice(self.own[client])
        how = self.choose.choice(self.COUNTER_WRITES if key.is_counter else self.WRITES)
        silent = how.endswith(' noreply')
        verb = how.split()[0].encode()
        tail = b' noreply' if silent else b''
        if how == 'touch':
            return Asked(b'touch %s 0\r\n' % key.name, lambda *_: None, [key])
        key.issued += 1
        number = key.issued
        value = b'%d' % number
        if verb in (b'append', b'prepend'):
            value = b',' + value if verb == b'append' else value + b','

        def stored(words, _):
            if words[0] in (b'STORED', b'HD'):
                if verb in (b'append', b'prepend'):
                    key.added += (number,)
                else:
                    key.acknowledge(number)
            self.expect(words, text, b'STORED', b'NOT_STORED', b'EXISTS', b'NOT_FOUND', b'HD')

        def deleted(words, _):
            if words[0] in (b'DELETED', b'NOT_FOUND', b'HD', b'NF'):
                key.acknowledge(number)
            self.expect(words, text, b'DELETED', b'NOT_FOUND', b'HD', b'NF')

        def counted(words, values):
            now = values[0][1] if values else words[0]
            if now.isdigit():
                if not key.floor < int(now) <= key.issued:
                    raise Stale('%r of %r is not above %d' % (now, text, key.floor))
                key.acknowledge(int(now))
            else:
                self.expect(words, text, b'NOT_FOUND', b'NF')
        done = stored
        if verb in (b'set', b'add', b'replace', b'append', b'prepend'):
            text = b'%s %s 0 0 %d%s\r\n%s\r\n' % (verb, key.name, len(value), tail, value)
        elif verb == b'cas':
            text = b'cas %s 0 0 %d %s\r\n%s\r\n' % (key.name, len(value), key.cas or b'1', value)
        elif verb == b'ms':
            text = b'ms %s %d\r\n%s\r\n' % (key.name, len(value), value)
        elif verb in (b'delete', b'md'):
            text, done = b'%s %s%s\r\n' % (verb, key.name, tail), deleted
        elif verb == b'incr':
            text, done = b'incr %s 1%s\r\n' % (key.name, tail), counted
        else:
            text, done = b'ma %s v\r\n' % key.name, counted
        if silent:
            key.trace.append('%.4f %r' % (time.monotonic() - self.began, text))
        return Asked(text, None if silent else done, [key])

    def expect(self, words, text, *right):
        if words[0] not in right + (b'SERVER_ERROR',):
            raise Stale('%r to %r' % (words, text))

    def next_request(self, client):
        way = self.choose.random()
        if way < 0.0001 and self.flushes:
            return self.flush()
        return self.read(client) if way < 0.6 else self.write(client)

    # The run

    def turn(self, is_ending=False):
        now = time.monotonic()
        for client in self.clients:
            if not client.waiting and not is_ending:
                client.ask(*(self.next_request(client) for _ in range(self.choose.choice((1, 1, 2, 4)))))
            if client.waiting and now - client.waiting[0].since > HUNG_SECONDS:
                raise Stale('client %d has no answer to %r' % (client.number, client.waiting[0].text))
        poller = select.poll()
        by_fd = {client.sock.fileno(): client for client in self.clients}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        for fd, _ in poller.poll(50):
            by_fd[fd].read()

    def finish(self):
        """Waits for what is under way, then reads every key."""
        while any(client.waiting for client in self.clients):
            self.turn(True)

    def close(self):
        for client in self.clients:
            client.sock.close()
