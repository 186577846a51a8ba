"""Connections that end at every byte: of a reply by the server, of a request by the client.

FAULTS=all tries every byte, else one in a few, others each time.
"""

import os
import random
import re

from harness import ProxyTest, answer_like_memcached, main, proxy_only, wait_until

ALL = os.environ.get('FAULTS') == 'all'
ERROR = rb'SERVER_ERROR s1: [^\r\n]+\r\n'


def some_of(count, step):
    return range(count) if ALL else range(random.randrange(step), count, step)


class Breaking:
    """A server's behaviour: an honest one, whose reply to a line that holds the mark breaks off."""

    def __init__(self):
        self.at = None
        self.reset = True
        self.times = 0

    def __call__(self, connection):
        for line, block in connection.requests():
            reply = self.reply_to(connection.server, line, block)
            if self.at is not None and b'mark' in line + b' ' + (b'mark' if line == b'stats' else b''):
                self.times += 1
                connection.send(reply[:self.at])
                if self.reset:
                    connection.reset()
                return
            connection.send(reply)

    @staticmethod
    def reply_to(server, line, block):
        words = line.split()
        if words[0] == b'mg' and words[-1] == b't':
            return b'HD t100 s5\r\n'
        if words[0] == b'me':
            return b'ME %s exp=-1 la=1 cas=2 fetch=no cls=1 size=70\r\n' % words[1]
        return answer_like_memcached(server, line, block)


# request, and what one may get beside an error: all of the reply, or, of a get, less
REQUESTS = [
    (b'get mark\r\n', b'VALUE mark 0 5\r\nhello\r\nEND\r\n'),
    (b'gets mark\r\n', b'VALUE mark 0 5 1\r\nhello\r\nEND\r\n'),
    (b'get mark none mark2\r\n', b'VALUE mark 0 5\r\nhello\r\nVALUE mark2 0 2\r\n\r\n\r\nEND\r\n'),
    (b'set mark3 0 0 1\r\nx\r\n', b'STORED\r\n'),
    (b'delete mark4\r\n', b'NOT_FOUND\r\n'),
    (b'incr mark5 0\r\n', b'17\r\n'),
    (b'touch mark 5\r\n', b'TOUCHED\r\n'),
    (b'mg mark v\r\n', b'VA 5\r\nhello\r\n'),
    (b'mg mark t\r\n', b'HD t100 s5\r\n'),
    (b'ms mark6 2 O12\r\nab\r\n', b'HD O12\r\n'),
    (b'md mark7\r\n', b'NF\r\n'),
    (b'me mark\r\n', b'ME mark exp=-1 la=1 cas=2 fetch=no cls=1 size=70\r\n'),
    (b'stats\r\n', rb'STAT'),
    (b'get markbig\r\n', b'VALUE markbig 0 40000\r\n' + b'b' * 40000 + b'\r\nEND\r\n'),
]


@proxy_only
class ServersThatBreakOff(ProxyTest):
    def setUp(self):
        super().setUp()
        self.breaking = Breaking()
        self.server = self.scripted(self.breaking, name='s1')
        self.server.items.update({b'mark': (b'0', b'hello'), b'mark2': (b'0', b'\r\n'), b'mark5': (b'0', b'17'),
                                  b'markbig': (b'0', b'b' * 40000), b'other': (b'0', b'other value')})
        self.daemon = self.ketamad([self.server], proxy={'workers': 1},
                                   pool={'fall': 1000, 'probe_interval': '0', 'on_failure': 'error'})
        self.witness = self.client(self.daemon.address)

    def is_served(self):
        reply = self.witness.ask(b'get other\r\n')
        if re.fullmatch(ERROR, reply):
            return False
        self.assertEqual(reply, b'VALUE other 0 11\r\nother value\r\nEND\r\n')
        return True

    def break_at(self, request, whole, at, reset):
        """Others' requests before and behind it on the same connection to the server."""
        self.breaking.at, self.breaking.reset = at, reset
        with self.daemon.client() as client:
            client.send(b'get other\r\n' + request + b'get other\r\nmn\r\n')
            replies = [client.read_reply() for _ in range(4)]
        what = '%r broken off at %d: %r' % (request, at, [reply[:200] for reply in replies])
        for reply in (replies[0], replies[2]):
            self.assertTrue(reply == b'VALUE other 0 11\r\nother value\r\nEND\r\n' or re.fullmatch(ERROR, reply), what)
        self.assertEqual(replies[3], b'MN\r\n', what)
        if not request.startswith(b'stats'):
            self.assertTrue(replies[1] == whole or re.fullmatch(ERROR, replies[1]), what)
        self.breaking.at = None
        wait_until(self.is_served, None, 'the other client to be served, ' + what)

    def test_every_kind_of_reply_at_every_byte(self):
        for request, whole in REQUESTS:
            with self.daemon.client() as client:
                reply = client.ask(request)
            self.assertTrue(reply == whole or request.startswith(b'stats'), reply[:200])
            places = list(some_of(min(len(reply), 120), 9))
            if len(reply) > 120:
                places += random.sample(range(120, len(reply)), 200 if ALL else 6) + [len(reply) - i for i in (1, 5, 7)]
            for at in places:
                self.break_at(request, whole, at, random.random() < 0.5)
        self.assertGreater(self.breaking.times, 50)


@proxy_only
class ClientsThatBreakOff(ProxyTest):
    def test_every_kind_of_request_at_every_byte(self):
        daemon, _ = self.pool_of(2)
        witness = self.client(daemon.address)
        request = (b'set kept 0 0 10\r\n0123456789\r\nget kept kept2 kept3\r\nset kept 0 0 5 noreply\r\nabcde\r\n'
                   b'ms kept 3 T0 O1\r\nxyz\r\nmg kept v k O2\r\nincr n 1\r\ncas kept 0 0 1 1\r\nx\r\n'
                   b'gat 10 kept kept2\r\nset big 0 0 2000000\r\n' + b'x' * 40 + b'\r\nstats\r\nversion\r\nnonsense\r\n')
        for at in some_of(len(request) + 1, 3):
            client = daemon.client()
            client.send(request[:at])
            if at % 3 == 0:
                client.finish_sending()
                client.read_until_closed()
            client.reset() if at % 2 else client.close()
            key = b'w%d' % at
            self.assertEqual(witness.ask(b'set %s 0 0 4\r\n%04d\r\n' % (key, at)), b'STORED\r\n')
            self.assertEqual(witness.ask(b'get %s\r\n' % key), b'VALUE %s 0 4\r\n%04d\r\nEND\r\n' % (key, at))
        wait_until(lambda: daemon.admin_stats()['in_flight'] == '0', None, 'what was begun to end')
        self.assertIn(witness.ask(b'get kept\r\n').split(b'\r\n')[1], (b'0123456789', b'abcde', b'xyz', b'x'))


if __name__ == '__main__':
    main()
