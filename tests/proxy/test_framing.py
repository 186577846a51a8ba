"""Framing and pairing: nothing a client sends may shift a reply (cases 1 to 16)."""

import base64
import os
import random
import socket
import threading
import unittest

from harness import (STORED, Client, ProxyTest, SameTest, keys_of, main, proxy_only, serve_items,
                     answer_like_memcached, wait_until)

LONG_KEY = b'k' * 251
BAD_FORMAT = b'CLIENT_ERROR bad command line format\r\n'

# Storage lines that are refused but say how long their block is: (line, answer).
REFUSED_LINES = [
    (b'set ' + LONG_KEY + b' 0 0 %d', BAD_FORMAT),
    (b'set ' + LONG_KEY + b' 0 0 %d noreply', b''),
    (b'add k -1 0 %d', BAD_FORMAT),
    (b'set k abc 0 %d', BAD_FORMAT),
    (b'set k 1.0 0 %d', BAD_FORMAT),
    (b'set k 18446744073709551616 0 %d', BAD_FORMAT),
    (b'replace k 0 abc %d', BAD_FORMAT),
    (b'append k 0 9223372036854775808 %d', BAD_FORMAT),
    (b'set k abc 0 %d noreply', b''),
    (b'cas k 0 0 %d', b'ERROR\r\n'),
    (b'cas k 0 0 %d abc', BAD_FORMAT),
    (b'cas k 0 0 %d -1', BAD_FORMAT),
    (b'cas k 0 0 %d 18446744073709551616', BAD_FORMAT),
    (b'set k 0 0 %d noreply extra', b'ERROR\r\n'),
    (b'set k 0 0 %d one two', b'ERROR\r\n'),
    (b'ms ' + LONG_KEY + b' %d', BAD_FORMAT),
    (b'ms k %d ~', b'CLIENT_ERROR invalid flag\r\n'),
    (b'ms k %d T1 T2', b'CLIENT_ERROR duplicate flag\r\n'),
    (b'ms k %d MX', b'CLIENT_ERROR invalid mode for ms M token\r\n'),
    (b'ms k %d MSS', b'CLIENT_ERROR incorrect length for M token\r\n'),
    (b'ms k %d Tabc', b'CLIENT_ERROR bad token in command line format\r\n'),
    (b'ms k %d Fabc', BAD_FORMAT),
    (b'ms $$ %d b', b'CLIENT_ERROR error decoding key\r\n'),
    (b'ms k %d O' + b'o' * 32, b'CLIENT_ERROR opaque token too long\r\n'),
]

# Lengths whose block cannot be found: answered, then closed.
UNREADABLE_LENGTHS = [
    b'99999999999999999999', b'99999999999999999999999', b'18446744073709551616',
    b'9223372036854775808', b'9223372036854775807', b'2147483648', b'2147483647', b'2147483646',
    b'4294967296', b'4294967299', b'4294967301', b'-1', b'-5', b'-2147483648', b'abc', b'1.0',
    b'0x1', b'5x', b'1e3',
]


@proxy_only
class AStorageLineIsJudgedWhole(ProxyTest):
    """Case 1: the block of a refused line is data, and no server sees any of it."""

    def test_refused_lines_swallow_their_block_and_reach_no_server(self):
        daemon, servers = self.pool_of(3)
        with daemon.client() as client:
            client.send(b''.join(b'set canary%d 0 0 2 noreply\r\nok\r\n' % i for i in range(30)))
            client.barrier()
            before = [self.commands_seen(server) for server in servers]
            for line, reply in REFUSED_LINES:
                for block in (b'flush_all', b'get canary1', b'flush_all\r\nget canary2\r\nmn', b''):
                    with self.subTest(line=line[:60], block=block):
                        self.answers(client, line % len(block) + b'\r\n' + block + b'\r\n', reply)
            after = [self.commands_seen(server) for server in servers]
            self.assertEqual(after, before)
            client.send(b'get ' + b' '.join(b'canary%d' % i for i in range(30)) + b'\r\n')
            self.assertEqual(client.barrier().count(b'VALUE'), 30)

    @staticmethod
    def commands_seen(server):
        stats = server.stats()
        return {name: stats[name] for name in
                ('cmd_set', 'cmd_get', 'cmd_flush', 'cmd_touch', 'cmd_meta', 'curr_items',
                 'total_items', 'delete_misses') if name in stats}

    def test_a_refused_block_may_come_in_pieces(self):
        daemon, _ = self.pool_of(1)
        for line, reply in REFUSED_LINES:
            with daemon.client() as client:
                client.send_pieces(line % 9 + b'\r\nflush_all\r\nversion\r\nmn\r\n', 7)
                got = client.read_exactly(len(reply))
                self.assertEqual(got, reply)
                self.assertTrue(client.read_line().startswith(b'VERSION '))
                self.assertEqual(client.read_line(), b'MN\r\n')

    def test_unreadable_lengths_are_answered_and_the_connection_closed(self):
        daemon, servers = self.pool_of(2)
        for command in (b'set', b'add', b'cas', b'ms'):
            for length in UNREADABLE_LENGTHS:
                with self.subTest(command=command, length=length), daemon.client() as client:
                    client.send(b'set before 0 0 1\r\nx\r\n')
                    self.assertEqual(client.read_line(), b'STORED\r\n')
                    if command == b'ms':
                        client.send(b'ms k ' + length + b' T0\r\n')
                    else:
                        client.send(command + b' k 0 0 ' + length
                                    + (b' 1' if command == b'cas' else b'') + b'\r\n')
                    self.assertEqual(client.read_until_closed(), BAD_FORMAT)
        self.assertEqual([server.ask(b'get k\r\n') for server in servers], [b'END\r\n'] * 2)

    def test_nothing_behind_an_unreadable_length_is_carried_out(self):
        daemon, _ = self.pool_of(2)
        daemon.ask(b'set canary 0 0 2\r\nok\r\n')
        for length in UNREADABLE_LENGTHS:
            with daemon.client() as client:
                client.send(b'set k 0 0 ' + length + b'\r\ndelete canary\r\nflush_all\r\n' * 3)
                client.read_until_closed()
        self.assertEqual(daemon.ask(b'get canary\r\n'), b'VALUE canary 0 2\r\nok\r\nEND\r\n')

    def test_the_error_for_an_unreadable_length_arrives_though_the_client_goes_on_sending(self):
        daemon, _ = self.pool_of(1)
        for _ in range(20):
            with daemon.client() as client:
                client.send(b'set k 0 0 abc\r\n')
                try:
                    for _ in range(50):
                        client.send(b'x' * 1000 + b'\r\n')
                except OSError:
                    pass
                self.assertEqual(client.read_until_closed(), BAD_FORMAT)

    def test_a_nul_in_a_line_is_refused(self):
        daemon, _ = self.pool_of(2)
        daemon.ask(b'set canary 0 0 2\r\nok\r\n')
        with daemon.client() as client:
            self.answers(client, b'get a\0b\r\n', BAD_FORMAT)
            self.answers(client, b'get canary \0b\r\n', BAD_FORMAT)
            self.answers(client, b'delete canary\0\r\n', BAD_FORMAT)
            self.answers(client, b'set a\0b 0 0 9\r\nflush_all\r\n', BAD_FORMAT)
            self.answers(client, b'get canary\r\n', b'VALUE canary 0 2\r\nok\r\nEND\r\n')

    def test_servers_are_sent_numbers_as_parsed_and_never_the_clients_text(self):
        server = self.scripted(name='s1')
        daemon = self.ketamad([server])
        with daemon.client() as client:
            client.send(b'set  k   007 -0   +003 \r\nabc\r\nset k 0 0 0003 whatever\r\nabc\r\n')
            self.assertEqual(client.barrier(), b'STORED\r\nSTORED\r\n')
        self.assertEqual([line for line in server.lines() if line.startswith(b'set')],
                         [b'set k 7 0 3', b'set k 0 0 3'])


@proxy_only
class ClientsNeverSeeEachOther(ProxyTest):
    """Cases 2, 3 and 13a."""

    def test_a_get_of_two_lines_does_not_reach_another_client(self):
        daemon, _ = self.pool_of(3)
        daemon.ask(b'set s 0 0 6\r\nsecret\r\n')
        daemon.ask(b'set b 0 0 1\r\nB\r\n')
        with daemon.client() as one, daemon.client() as other:
            for _ in range(200):
                one.send(b'get a\r\nget s\r\n')
                other.send(b'get b\r\n')
                self.assertEqual(other.read_reply(), b'VALUE b 0 1\r\nB\r\nEND\r\n')
                self.assertEqual(one.read_reply(), b'END\r\n')
                self.assertEqual(one.read_reply(), b'VALUE s 0 6\r\nsecret\r\nEND\r\n')

    def disturb(self, requests, workers):
        """Reads steadily on some clients while others send requests; every read must be right."""
        daemon, _ = self.pool_of(3, proxy={'workers': workers})
        with daemon.client() as client:
            client.send(b''.join(b'set r%d 0 0 %d noreply\r\n%d\r\n' % (i, len(str(i)), i)
                                 for i in range(50)))
            client.barrier()
        stop = threading.Event()

        def annoy(seed):
            choose = random.Random(seed)
            while not stop.is_set():
                try:
                    with daemon.client() as client:
                        for _ in range(20):
                            client.send(choose.choice(requests))
                            if client.has_input():
                                client.sock.recv(65536)
                except OSError:
                    pass
        threads = [threading.Thread(target=annoy, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        try:
            with daemon.client() as client:
                choose = random.Random(7)
                for _ in range(500):
                    picks = [choose.randrange(50) for _ in range(5)]
                    client.send(b''.join(b'get r%d\r\n' % i for i in picks))
                    for i in picks:
                        self.assertEqual(client.read_reply(), b'VALUE r%d 0 %d\r\n%d\r\nEND\r\n'
                                         % (i, len(str(i)), i))
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_a_key_that_looks_like_replies_answers_nobody(self):
        """memcached's me shows a key undecoded, whatever lines are in it."""
        daemon, servers = self.pool_of(1, proxy={'workers': 1}, pool={'request_timeout': '20s'})
        attacker, victim = self.client(daemon.address), self.client(daemon.address)
        self.answers(victim, b'set v 0 0 4\r\ngood\r\n', STORED)
        for key in (b'\r\nVALUE v 0 4\r\nevil\r\nEND\r\n', b'x\r\nEND\r\n', b'\n', b'a b\r\nSERVER_ERROR no\r\n'):
            encoded = base64.b64encode(key)
            self.answers(attacker, b'mg %s b N600\r\n' % encoded, b'HD W\r\n')  # made so, a key is kept as if it were plain
            servers[0].pause()
            attacker.send(b'me %s b\r\n' % encoded)
            wait_until(lambda: daemon.admin_stats()['in_flight'] == '1', None, 'the first request to be under way')
            victim.send(b'get v\r\n')
            wait_until(lambda: daemon.admin_stats()['in_flight'] == '2', None, 'both to be under way')
            servers[0].resume()
            self.assertEqual(victim.read_reply(), b'VALUE v 0 4\r\ngood\r\nEND\r\n', key)
            self.assertTrue(attacker.barrier().startswith(b'ME %s exp=' % key), key)

    def test_readers_do_not_notice_a_client_of_refused_storage_lines(self):
        self.disturb([line % 11 + b'\r\nget r1\r\nget\r\n' for line, _ in REFUSED_LINES]
                     + [b'set k 0 99999999999999999999999 9\r\nget r2\r\n9\r\n'], 1)

    def test_readers_do_not_notice_a_client_of_errors(self):
        self.disturb([b'set k 0 99999999999999999999 1\r\n1\r\n', b'get ' + LONG_KEY + b'\r\n',
                      b'incr text x\r\n', b'touch k x\r\n', b'set k 0 0 1\r\n123456\r\n',
                      b'ms k 1 ~\r\n1\r\n', b'mg\r\n', b'mg k ~\r\n', b'md k ~\r\n', b'ma k ~\r\n',
                      b'set k 0 0 10\r\nabc', b'get a', b'set text 0 0 1\r\nx\r\nincr text 1\r\n'], 2)

    def test_a_request_that_the_server_answers_with_an_error_keeps_the_connection_to_it(self):
        """The errors a server gives to what was passed on are answers like any other."""
        daemon, _ = self.pool_of(1, proxy={'workers': 1})
        with daemon.client() as client:
            self.answers(client, b'set n 0 0 1\r\na\r\n', b'STORED\r\n')
            before = daemon.admin_stats()['backend_connects']
            for request in (b'incr n 1\r\n', b'mg n ~\r\n', b'ma n ~\r\n', b'md n ~\r\n', b'ma n D1\r\n'):
                client.send(request)
                self.assertTrue(client.read_line().startswith(b'CLIENT_ERROR'), request)
            self.answers(client, b'get n\r\n', b'VALUE n 0 1\r\na\r\nEND\r\n')
        self.assertEqual(daemon.admin_stats()['backend_connects'], before)


class NoreplyIsSilent(SameTest):
    """Case 4 and protocol.md section 3."""

    def test_noreply_never_answers(self):
        self.same(b'set k 0 0 1\r\n1\r\ndelete k noreply\r\nget k\r\n', b'STORED\r\nEND\r\n')
        self.same(b'set t 0 0 4 noreply\r\ntext\r\nincr t 1 noreply\r\ndecr t 1 noreply\r\n'
                  b'incr t x noreply\r\nincr nope 1 noreply\r\n', b'')
        self.same(b'add t 0 0 1 noreply\r\nx\r\nreplace nope 0 0 1 noreply\r\nx\r\n'
                  b'append nope 0 0 1 noreply\r\nx\r\nprepend nope 0 0 1 noreply\r\nx\r\n'
                  b'cas nope 0 0 1 5 noreply\r\nx\r\ntouch nope 5 noreply\r\n'
                  b'touch nope abc noreply\r\nflush_all noreply\r\nflush_all 0 noreply\r\n'
                  b'verbosity 1 noreply\r\ndelete nope 0 noreply\r\ndelete nope noreply\r\n', b'')

    def test_errors_are_silent_under_noreply(self):
        self.same(b'set k 0 0 3 noreply\r\nabcdef\r\n')
        self.same(b'set k 0 0 1048577 noreply\r\n' + b'x' * 1048577 + b'\r\nmg k\r\n', b'EN\r\n')
        self.same(b'flush_all abc noreply\r\ndelete k 5 noreply\r\n')

    def test_only_the_last_word_in_lower_case_silences(self):
        self.same(b'set k 0 0 1 NOREPLY\r\nx\r\ndelete k NOREPLY\r\n')
        self.same(b'incr k 1 noreply x\r\ndelete k noreply x\r\ntouch k 1 noreply x\r\n')

    def test_a_key_called_noreply_is_a_key(self):
        self.same(b'set noreply 0 0 1\r\nx\r\nget noreply\r\nget a noreply\r\ngets noreply noreply\r\n'
                  b'incr noreply 1\r\ndelete noreply\r\n')
        self.same(b'set noreply 0 0 1\r\nx\r\ngat 100 noreply\r\ngat 100 a noreply\r\n'
                  b'touch noreply 10\r\ntouch noreply noreply\r\ndelete noreply noreply\r\n'
                  b'get noreply\r\n')

    def test_noreply_and_plain_requests_of_one_packet_keep_their_order(self):
        """Case 10."""
        request = b''.join(b'delete k%d noreply\r\nset k%d 0 0 3 noreply\r\n%03d\r\nget k%d\r\n'
                           % (i % 10, i % 10, i % 1000, i % 10) for i in range(1000))
        self.same(request, b''.join(b'VALUE k%d 0 3\r\n%03d\r\nEND\r\n' % (i % 10, i % 1000)
                                    for i in range(1000)))


class QuietModeIsSilentWhereItSaysSo(SameTest):
    def test_quiet_meta_commands_hide_what_memcached_hides(self):
        self.same(b'ms a 1 q\r\nx\r\nmg a q\r\nmg a q v\r\nmg nope q\r\nmg nope q v k Oabc\r\n'
                  b'md nope q\r\nma nope q\r\nms a 1 ME q\r\nx\r\nms n 1 q\r\n1\r\nma n q\r\n'
                  b'ma n q v\r\nmd n q\r\nmn\r\n')

    def test_quiet_errors_are_told(self):
        self.same(b'ms a 1 q ~\r\nx\r\nmg a q ~\r\nmd a q ~\r\nma a q ~\r\nms t 1 q\r\nx\r\nma t q\r\n'
                  b'ms t 1 q C99999999999999\r\nx\r\nmd t q C99999999999999\r\n')

    def test_hits_come_back_in_order_and_mn_last(self):
        for i in range(0, 100, 3):
            self.same(b'ms k%d 2\r\nv1\r\n' % i, b'HD\r\n')
        self.same(b''.join(b'mg k%d v k q O%d\r\n' % (i, i) for i in range(100)) + b'mn\r\n',
                  b''.join(b'VA 2 kk%d O%d\r\nv1\r\n' % (i, i) for i in range(0, 100, 3))
                  + b'MN\r\n')


class LengthsAreReadAsMemcachedReadsThem(SameTest):
    """Case 5."""

    def test_odd_but_readable_lengths(self):
        for length in (b'5', b'05', b'+5', b'0000000000000000000005'):
            self.same(b'set k 0 0 ' + length + b'\r\nhello\r\nget k\r\n',
                      b'STORED\r\nVALUE k 0 5\r\nhello\r\nEND\r\n')
            self.same(b'ms k ' + length + b'\r\nhello\r\nget k\r\n',
                      b'HD\r\nVALUE k 0 5\r\nhello\r\nEND\r\n')
        for length in (b'0', b'-0', b'+0', b'000'):
            self.same(b'set k 0 0 ' + length + b'\r\n\r\nget k\r\n',
                      b'STORED\r\nVALUE k 0 0\r\n\r\nEND\r\n')

    def test_odd_but_good_flags_and_times(self):
        for flags in (b'+1', b'-0', b'4294967295', b'4294967296', b'18446744073709551615', b'007'):
            self.same(b'set k ' + flags + b' 0 2\r\nhi\r\nget k\r\n')
            self.same(b'ms k 2 F' + flags + b'\r\nhi\r\nmg k f v\r\n')
        for exptime in (b'-1', b'-0', b'+5', b'0005', b'9223372036854775807', b'2592000', b'2592001',
                        b'-9223372036854775808', b'4102444800', b'4294967296'):
            self.same(b'set k 0 ' + exptime + b' 2\r\nhi\r\nget k\r\n')
            self.same(b'ms k 2 T' + exptime + b'\r\nhi\r\nmg k v\r\n')
            self.same(b'touch k ' + exptime + b'\r\nmg k v\r\n')
            self.same(b'gat ' + exptime + b' k\r\nmg k v\r\n')

    def test_a_block_without_its_end_is_a_bad_data_chunk(self):
        self.same(b'set k 0 0 5\r\nabcdefgh\r\n', b'CLIENT_ERROR bad data chunk\r\nERROR\r\n')
        self.same(b'set k 0 0 5\r\nabcdefgversion-is-not-run-from-here\r\n')
        self.same(b'set k 0 0 5\r\nabcdeXXget k\r\n', b'CLIENT_ERROR bad data chunk\r\nEND\r\n')
        self.same(b'set k 0 0 5\r\nabcde\n\n\r\n')
        self.same(b'set k 0 0 3\r\nab\r\nget k\r\n')
        self.same(b'set k 0 0 0\r\nx\r\nget k\r\n')
        self.same(b'ms k 5\r\nabcdeXXmg k\r\n', b'CLIENT_ERROR bad data chunk\r\nEN\r\n')
        self.same(b'set k 0 0 1\r\n1\r\nset k 0 0 5\r\nabcdeXXget k\r\nappend k 0 0 1\r\nabXget k\r\n')

    def test_blocks_may_hold_anything(self):
        every_byte = bytes(range(256))
        for value in (every_byte, b'\r\n' * 50, b'END\r\nVALUE x 0 1\r\n', b'\0' * 100, b'get a\r\n'):
            self.same(b'set k 5 0 %d\r\n%s\r\nget k\r\nmg k v s f\r\n'
                      % (len(value), value, ))


class KeysAreBytes(SameTest):
    """Case 6: one reply a request, whatever the key is made of."""

    def test_odd_bytes_in_keys_are_stored_and_found(self):
        for key in (b'\x01', b'a\tb', b'\x7f', b'a\rb', b'\x80', b'\xff\xfe', 'ключ'.encode(), b'%s%n',
                    b'VALUE', b'END', b'"quoted"', b'get', b'0', b'-', bytes(range(128, 228))):
            with self.subTest(key=key):
                self.same(b'set %s 0 0 2\r\nhi\r\nget %s\r\nmg %s k v\r\nget a %s b\r\n'
                          % (key, key, key, key))
                self.same(b'incr %s 1\r\ntouch %s 0\r\nma %s\r\nme nope%s\r\nmd %s k\r\n'
                          b'delete %s\r\n' % ((key,) * 6))

    def test_keys_of_the_longest_length_work_and_longer_ones_are_refused(self):
        key = b'K' * 250
        self.same(b'set %s 0 0 2\r\nhi\r\nget %s\r\nmg %s v\r\ndelete %s\r\n' % ((key,) * 4),
                  b'STORED\r\nVALUE %s 0 2\r\nhi\r\nEND\r\nVA 2\r\nhi\r\nDELETED\r\n' % key)
        for request in (b'get %s', b'gets %s', b'get a %s b', b'gat 0 %s', b'gats 0 a %s', b'delete %s',
                        b'incr %s 1', b'decr %s 1', b'touch %s 1', b'mg %s v', b'md %s', b'ma %s',
                        b'me %s', b'delete %s noreply', b'incr %s 1 noreply', b'touch %s 1 noreply'):
            with self.subTest(request=request):
                self.same(request % LONG_KEY + b'\r\n')

    def test_a_long_key_in_a_multi_get_gives_only_the_error(self):
        self.same(b'set a 0 0 1\r\n1\r\n', b'STORED\r\n')
        self.same(b'get a ' + LONG_KEY + b' a\r\n', BAD_FORMAT)


class RepliesKeepTheirOrder(SameTest):
    """Cases 9, 12 and 16."""

    def test_errors_between_good_requests_take_their_place(self):
        # memcached 1.6.18 loses what it has not yet written when a key is too long, so that one
        # is not compared
        for middle in (b'unknown', b'GET a', b'Get a', b'', b' ', b'   ', b'SET a 0 0 1',
                       b'rget a', b'gett a', b'get', b'mg', b'\x01', b'=', b'\xff'):
            with self.subTest(middle=middle[:20]):
                out = self.same(b'set a 0 0 1\r\nx\r\nget a\r\n' + middle + b'\r\nget a\r\n')
                self.assertEqual(out.count(b'VALUE a'), 2)

    @proxy_only
    def test_a_key_too_long_loses_no_reply_before_it(self):
        with self.daemon.client() as client:
            for line in (b'get ' + LONG_KEY, b'get a ' + LONG_KEY + b' a', b'gats 0 ' + LONG_KEY):
                self.answers(client, b'set a 0 0 1\r\nx\r\nget a\r\n' + line + b'\r\nget a\r\n',
                             b'STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n' + BAD_FORMAT
                             + b'VALUE a 0 1\r\nx\r\nEND\r\n')

    def test_multi_get_values_come_in_the_order_asked(self):
        keys = [b'key%d' % i for i in range(60)]
        self.same(b''.join(b'set %s %d 0 %d\r\n%s\r\n' % (key, i, len(key), key)
                           for i, key in enumerate(keys) if i % 3))
        choose = random.Random(16)
        for _ in range(30):
            asked = [choose.choice(keys + [b'missing']) for _ in range(choose.randrange(1, 90))]
            self.same(b'get ' + b' '.join(asked) + b'\r\n')
            self.same(b'gat 0 ' + b' '.join(asked) + b'\r\n')

    def test_the_same_key_twice_is_answered_twice(self):
        self.same(b'set a 0 0 1\r\nx\r\nget a a b a\r\n', b'STORED\r\n' + b'VALUE a 0 1\r\nx\r\n' * 3
                  + b'END\r\n')

    def test_a_clients_requests_for_one_key_stay_in_order(self):
        request = b''.join(b'set k%d 0 0 4\r\n%04d\r\nget k%d\r\n' % (i % 7, i, i % 7)
                           for i in range(2000))
        self.same(request, b''.join(b'STORED\r\nVALUE k%d 0 4\r\n%04d\r\nEND\r\n' % (i % 7, i)
                                    for i in range(2000)))

    @proxy_only
    def test_that_order_holds_with_several_connections_to_a_server(self):
        daemon = self.ketamad(self.servers, pool={'connections': 4})
        request = b''.join(b'set k%d 0 0 4\r\n%04d\r\nget k%d\r\n' % (i % 7, i, i % 7)
                           for i in range(2000))
        right = b''.join(b'STORED\r\nVALUE k%d 0 4\r\n%04d\r\nEND\r\n' % (i % 7, i)
                         for i in range(2000))
        for _ in range(5):
            with daemon.client() as client:
                client.send(request)
                self.assertEqual(client.barrier(), right)

    def test_mixed_pipelines_are_answered_in_order(self):
        choose = random.Random(9)
        for _ in range(20):
            parts = []
            for i in range(300):
                key = b'p%d' % choose.randrange(20)
                parts.append(choose.choice([
                    b'get %s\r\n' % key, b'set %s 0 0 3\r\n%d\r\n' % (key, i + 100), b'delete %s\r\n' % key,
                    b'incr %s 5\r\n' % key, b'bogus\r\n', b'mg %s v\r\n' % key, b'mn\r\n',
                    b'add %s 0 0 1\r\n7\r\n' % key, b'append t%s 0 0 1\r\n9\r\n' % key,
                    b'ms t%s 3\r\n%03d\r\n' % (key, i), b'get t%s %s\r\n' % (key, key), b'\r\n',
                    b'touch %s 0\r\n' % key, b'verbosity 1\r\n', b'get a b %s c\r\n' % key]))
            self.same(b''.join(parts))


class AnySplitIsTheSame(ProxyTest):
    """Case 11: how bytes fall into packets changes nothing."""

    def setUp(self):
        super().setUp()
        self.daemon, _ = self.pool_of(3)
        with self.daemon.client() as client:
            client.send(b''.join(b'set key%d 0 0 5 noreply\r\nvalue\r\n' % i
                                 for i in range(0, 4000, 7)))
            client.barrier()

    def in_one_and_in_pieces(self, request, sizes):
        with self.daemon.client() as client:
            client.send(request)
            right = client.barrier()
        self.assertNotIn(b'ERROR', right)
        for size in sizes:
            with self.daemon.client() as client:
                client.send_pieces(request, size)
                self.assertEqual(client.barrier(), right, 'in pieces of %d' % size)
        return right

    def test_long_get_lines_in_pieces(self):
        for length in (1024, 2040, 2047, 2048, 2049, 2060, 4096, 16384, 65536):
            keys = [b'key%d' % i for i in range(length // 7)]
            line = b'get ' + b' '.join(keys)
            right = self.in_one_and_in_pieces(line[:length] + b'\r\n',
                                              [1, 1000, 2048, 4095] if length <= 4096
                                              else [777, 16383])
            self.assertTrue(right.startswith(b'VALUE key0 '))

    def test_a_get_line_cut_at_every_byte(self):
        request = b'get ' + b' '.join(b'key%d' % i for i in range(40)) + b'\r\n'
        with self.daemon.client() as client:
            client.send(request)
            right = client.barrier()
            for cut in range(1, len(request)):
                client.send(request[:cut])
                client.send(request[cut:])
                self.assertEqual(client.barrier(), right, 'cut at %d' % cut)

    def test_storage_requests_byte_by_byte(self):
        request = (b'set k1 5 0 7\r\nab\r\ncde\r\nget k1\r\nms k2 3 F9 T0 k\r\nxyz\r\nmg k2 v f k\r\n'
                   b'delete k1\r\ncas k2 0 0 2 99999999999\r\nok\r\ngat 0 k2\r\n')
        self.in_one_and_in_pieces(request, [1, 2, 3, 5, 11])

    def test_a_bare_newline_ends_a_line(self):
        with self.daemon.client() as client:
            self.answers(client, b'set k 0 0 2\nhi\r\nget k\n', b'STORED\r\nVALUE k 0 2\r\nhi\r\nEND\r\n')


class SmallShapesOfLines(SameTest):
    """Cases 13, 13b, 14, 15."""

    def test_blanks_before_the_line_end(self):
        for line in (b'get ', b'get', b'gets  ', b'gets', b'gat', b'gat ', b'gat 10', b'gat 10 ', b' get a',
                     b'  get   a  ', b'get a ', b'mn ', b' mn', b'set', b'delete', b'delete ', b'incr',
                     b'incr a', b'decr', b'touch', b'touch a', b'mg ', b'mg', b'md', b'ma', b'me', b'mn x y',
                     b'verbosity', b'verbosity ', b'verbosity abc', b'verbosity 1', b'verbosity 1 2',
                     b'verbosity 1 noreply', b'flush_all a b', b'flush_all 0 0', b'flush_all a b c'):
            with self.subTest(line=line):
                if line.split()[:1] == [b'set'] and not AGAINST:
                    continue  # a storage line: elsewhere
                self.same(b'set a 0 0 1\r\nx\r\n' + line + b'\r\nget a\r\n')

    def test_version_ignores_its_arguments(self):
        for line in (b'version', b'version ', b'version foo bar', b'version 1'):
            with self.daemon.client() as client:
                client.send(line + b'\r\n')
                self.assertRegex(client.barrier(), rb'^VERSION \d+(\.\d+)+\r\n$')

    def test_shapes_that_client_libraries_send(self):
        self.same(b'verbosity 1 noreply\r\nrget\r\nflush_all 0\r\nflush_all -1\r\n', b'ERROR\r\nOK\r\nOK\r\n')
        self.same(b'flush_all abc\r\n', b'CLIENT_ERROR invalid exptime argument\r\n')

    def test_deletes_and_numbers_with_odd_arguments(self):
        for line in (b'delete k 0', b'delete k 0 noreply', b'delete k 5', b'delete k 0 0', b'delete k noreply 0',
                     b'delete k -1', b'delete k 0 5 noreply', b'incr k 0.2', b'touch k 0.2', b'incr k -1',
                     b'incr k 18446744073709551616', b'incr k 18446744073709551615', b'decr k 99', b'incr k abc',
                     b'incr k 1 2', b'incr k 1 2 3', b'touch k', b'touch k 1 2', b'touch k 1 2 3', b'touch k abc',
                     b'decr k 0x1', b'incr k 01', b'incr k +1', b'gat abc k', b'gat 0.2 k', b'gats abc k',
                     b'gat -1 k', b'gat 10', b'delete', b'get k k2 k3'):
            with self.subTest(line=line):
                self.same(b'set k 0 0 2\r\n10\r\n' + line + b'\r\nget k\r\n')

    def test_the_texts_themselves(self):
        self.same(b'delete k 5\r\n', b'CLIENT_ERROR bad command line format.  '
                  b'Usage: delete <key> [noreply]\r\n')
        self.same(b'incr k 0.2\r\n', b'CLIENT_ERROR invalid numeric delta argument\r\n')
        self.same(b'touch k 0.2\r\n', b'CLIENT_ERROR invalid exptime argument\r\n')
        self.same(b'set k 0 0 1\r\na\r\nincr k 1\r\n', b'STORED\r\n'
                  b'CLIENT_ERROR cannot increment or decrement non-numeric value\r\n')

    def test_exptime_of_minus_one_is_stored_and_gone(self):
        self.same(b'set k 0 -1 1\r\nx\r\nget k\r\n', b'STORED\r\nEND\r\n')

    def test_counters_stop_and_wrap_where_memcacheds_do(self):
        self.same(b'set n 0 0 20\r\n18446744073709551615\r\nincr n 1\r\ndecr n 5\r\nget n\r\n')
        self.same(b'set n 0 0 3\r\n100\r\ndecr n 91\r\nget n\r\nincr n 1\r\n')

    def test_meta_commands_with_few_arguments(self):
        self.same(b'ms a 0\r\n\r\nmg a\r\nmg a s v\r\n', b'HD\r\nHD\r\nVA 0 s0\r\n\r\n')
        self.same(b'ms a 0 T3600\r\n\r\nmg a t\r\n', b'HD\r\nHD t3600\r\n')
        self.same(b'mg nope k Oab v\r\nmg nope\r\n', b'EN knope Oab\r\nEN\r\n')
        self.same(b'ms\r\n', b'ERROR\r\n')

    @proxy_only
    def test_storage_lines_with_too_few_words_answer_error(self):
        for line in (b'set', b'set k', b'set k 0', b'set k 0 0', b'cas k 0 0', b'ms k'):
            with self.daemon.client() as client:
                client.send(line + b'\r\n')
                self.assertEqual(client.read_line(),
                                 BAD_FORMAT if line == b'ms k' else b'ERROR\r\n')


class HalfClosedClients(SameTest):
    def test_a_client_that_stops_sending_still_gets_its_replies(self):
        for request in (b'get nope\r\n', b'set a 0 0 1\r\nx\r\nget a b c\r\n', b'get a\r\n' * 500, b'bogus\r\n',
                        b'set big 0 0 100000\r\n' + b'x' * 100000 + b'\r\n' + b'get big\r\n' * 5):
            with self.reference.client() as one, self.daemon.client() as other:
                for client in (one, other):
                    client.send(request)
                    client.finish_sending()
                self.assertEqual(other.read_until_closed(), one.read_until_closed())

    def test_an_unfinished_request_at_the_end_is_nothing(self):
        for request in (b'get a', b'set a 0 0 10\r\nabc', b'set a 0 0 3\r\nabc', b'ms a'):
            with self.daemon.client() as client:
                client.send(b'get b\r\n' + request)
                client.finish_sending()
                self.assertEqual(client.read_until_closed(), b'END\r\n')
        self.same(b'get a\r\n', b'END\r\n')

    def test_quit_closes_after_the_replies_due(self):
        for request in (b'quit\r\n', b'get a\r\nquit\r\nget b\r\n', b'set a 0 0 1\r\nx\r\nget a\r\nquit\r\n'):
            with self.reference.client() as one, self.daemon.client() as other:
                one.send(request)
                other.send(request)
                self.assertEqual(other.read_until_closed(), one.read_until_closed())


class LinesWithoutEnd(SameTest):
    def test_a_line_of_2048_bytes_without_its_end_is_closed_silently(self):
        for start in (b'set ', b'delete ', b'x', b'mg ', b'incr '):
            with self.daemon.client() as client:
                self.assertEqual(client.ask(b'get a\r\n'), b'END\r\n')
                try:
                    client.send(start + b'k' * 5000)
                except OSError:
                    pass
                self.assertEqual(client.read_until_closed(), b'')

    def test_get_lines_may_be_as_long_as_they_like(self):
        keys = b' '.join(b'key-number-%d' % i for i in range(20000))
        for command in (b'get ', b'gets '):
            self.same(command + keys + b'\r\n', b'END\r\n')

    @proxy_only
    def test_gat_lines_too(self):
        keys = b' '.join(b'key-number-%d' % i for i in range(20000))
        for command in (b'gat 0 ', b'gats 0 '):
            with self.daemon.client() as client:
                self.answers(client, command + keys + b'\r\n', b'END\r\n')


@proxy_only
class WhatIsRefused(ProxyTest):
    def test_commands_of_one_process_are_refused_and_the_connection_kept(self):
        daemon, servers = self.pool_of(1)
        with daemon.client() as client:
            for line in (b'shutdown', b'shutdown graceful', b'watch', b'watch fetchers', b'lru tune 10 10 1 1',
                         b'lru_crawler metadump all', b'lru_crawler crawl all', b'slabs reassign 1 2',
                         b'slabs automove 0', b'cache_memlimit 10', b'extstore free_memchunks 1 1',
                         b'refresh_certs', b'misbehave 1', b'debugtime p'):
                with self.subTest(line=line):
                    name = line.split()[0]
                    self.answers(client, line + b'\r\n',
                                 b'CLIENT_ERROR ' + name + b' is not available through a proxy\r\n')
            self.answers(client, b'set a 0 0 1\r\nx\r\n', b'STORED\r\n')
        self.assertIsNone(servers[0].process.poll())

    def test_flush_all_is_refused_where_the_pool_does_not_allow_it(self):
        daemon, _ = self.pool_of(2, pool={'allow_flush': 'no'})
        with daemon.client() as client:
            self.answers(client, b'set a 0 0 1\r\nx\r\n', b'STORED\r\n')
            self.answers(client, b'flush_all\r\nflush_all noreply\r\nflush_all 0\r\n',
                         b'CLIENT_ERROR flush_all not allowed\r\n' * 2)
            self.answers(client, b'get a\r\n', b'VALUE a 0 1\r\nx\r\nEND\r\n')

    def test_the_binary_protocol_gets_one_line_and_a_close(self):
        daemon, _ = self.pool_of(1)
        for request in (b'\x80\x0b' + b'\0' * 22, b'\x80'):
            with daemon.client() as client:
                client.send(request)
                self.assertRegex(client.read_until_closed(), rb'^CLIENT_ERROR [^\r\n]+\r\n$')

    def test_http_gets_one_line_and_a_close(self):
        daemon, _ = self.pool_of(1)
        for request in (b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', b'POST /x HTTP/1.0\r\n\r\nset a 0 0 1\r\nx\r\n'):
            with daemon.client() as client:
                client.send(request)
                self.assertRegex(client.read_until_closed(), rb'^[^\r\n]*ERROR [^\r\n]+\r\n$')
        self.assertEqual(daemon.ask(b'get a\r\n'), b'END\r\n')

    def test_a_get_in_upper_case_is_no_http(self):
        daemon, _ = self.pool_of(1)
        with daemon.client() as client:
            self.answers(client, b'GET a\r\nget a\r\n', b'ERROR\r\nEND\r\n')


@proxy_only
class RepliesOfServersAreChecked(ProxyTest):
    """protocol.md section 4, last row, and cases 7 and 8."""

    def broken(self, behaviour, request=b'get k\r\n', **pool):
        server = self.scripted(behaviour, name='s1')
        options = {'request_timeout': '400ms'}
        options.update(pool)
        daemon = self.ketamad([server], pool=options)
        with daemon.client() as client:
            client.send(request)
            return client.read_line(), server, daemon, client

    def test_what_cannot_be_an_answer_fails_that_request_only(self):
        for reply in (b'HELLO\r\n', b'VALUE other 0 1\r\nx\r\nEND\r\n', b'VALUE k 0 abc\r\nx\r\nEND\r\n',
                      b'VALUE k 0 -1\r\nEND\r\n', b'VALUE k 0 1\r\nxxxxEND\r\n', b'STORED\r\n', b'\r\n',
                      b'VALUE k 0 99999999999999999999\r\n', b'MN\r\n', b'\0\0\0\0\r\n', b'OK\r\n',
                      b'VALUE k 0 1\r\nx\r\nVALUE k 0 1\r\nx\r\nEND\r\n', b'VALUE k 0\r\nEND\r\n',
                      b'x' * 20000):
            with self.subTest(reply=reply[:40]):
                def behave(connection, reply=reply):
                    for line, block in connection.requests():
                        if line == b'get k':
                            connection.send(reply)
                        else:
                            connection.send(answer_like_memcached(connection.server, line, block))
                server = self.scripted(behave, name='s1')
                daemon = self.ketamad([server], pool={'request_timeout': '400ms'})
                with daemon.client() as client:
                    client.send(b'get k\r\n')
                    got = client.read_line()
                    self.assertTrue(got.startswith(b'SERVER_ERROR s1: '), got)

                    def recovers():
                        return client.ask(b'set a 0 0 1\r\nx\r\n') == b'STORED\r\n'
                    wait_until(recovers, None, 'the next connection to s1')
                    self.assertEqual(client.ask(b'get a\r\n'), b'VALUE a 0 1\r\nx\r\nEND\r\n')
                    self.assertFalse(client.has_input())

    def test_a_reply_nobody_asked_for_closes_that_connection(self):
        def behave(connection):
            for line, block in connection.requests():
                reply = answer_like_memcached(connection.server, line, block)
                connection.send(reply + (b'STORED\r\n' if line == b'get twice' else b''))
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1})
        with daemon.client() as client:
            self.assertEqual(client.ask(b'set a 0 0 1\r\nx\r\n'), b'STORED\r\n')
            self.assertEqual(client.ask(b'get twice\r\n'), b'END\r\n')

            def right():
                got = client.ask(b'get a\r\n')
                self.assertTrue(got == b'VALUE a 0 1\r\nx\r\nEND\r\n'
                                or got.startswith(b'SERVER_ERROR s1: '), got)
                return got.startswith(b'VALUE') and server.accepted > 1
            wait_until(right, None, 'a fresh connection')

    def test_an_error_line_unasked_and_a_close_is_no_answer_to_the_next(self):
        def behave(connection):
            if connection.number == 1:
                connection.send(b'ERROR Too many open connections\r\n')
                return
            serve_items(connection)
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1})
        with daemon.client() as client:
            def works():
                got = client.ask(b'get a\r\n')
                self.assertTrue(got == b'END\r\n' or got.startswith(b'SERVER_ERROR s1: '), got)
                return got == b'END\r\n'
            wait_until(works, None, 'the second connection')

    def test_a_late_reply_is_dropped_and_never_another_requests(self):
        """Case 7."""
        def behave(connection):
            for line, block in connection.requests():
                if line == b'get slow':
                    connection.wait(0.5)
                    connection.send(b'VALUE slow 0 4\r\nlate\r\nEND\r\n')
                else:
                    connection.send(answer_like_memcached(connection.server, line, block))
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], pool={'request_timeout': '200ms'}, proxy={'workers': 1})
        with daemon.client() as one, daemon.client() as other:
            self.assertEqual(one.ask(b'set a 0 0 1\r\nx\r\n'), b'STORED\r\n')
            for _ in range(3):
                one.send(b'get slow\r\n')
                self.assertTrue(one.read_line().startswith(b'SERVER_ERROR s1: '))
                for _ in range(30):
                    for client in (one, other):
                        got = client.ask(b'get a\r\n')
                        self.assertTrue(got == b'VALUE a 0 1\r\nx\r\nEND\r\n'
                                        or got.startswith(b'SERVER_ERROR s1: '), got)
                wait_until(lambda: other.ask(b'get a\r\n').startswith(b'VALUE'), None,
                           'the server to answer again')

    def test_a_value_that_breaks_off_never_ends_in_an_error_line(self):
        """Case 8: nothing begun is a SERVER_ERROR; begun is a closed client."""
        half = b'VALUE k 0 2000000\r\n' + b'x' * 500000
        for name, ending in (('reset', 'reset'), ('close', 'close'), ('hang', 'wait_closed')):
            with self.subTest(ending=name):
                def behave(connection, ending=ending):
                    for _ in connection.requests():
                        connection.send(half)
                        getattr(connection, ending)()
                        return
                server = self.scripted(behave, name='s1')
                daemon = self.ketamad([server], pool={'request_timeout': '400ms'},
                                      proxy={'max_value_size': '4m'})
                with daemon.client() as client:
                    client.send(b'get k\r\n')
                    self.check_broken_value(client, half)

    def check_broken_value(self, client, half):
        got = client.read_line()
        if got.startswith(b'SERVER_ERROR'):
            self.assertTrue(got.startswith(b'SERVER_ERROR s1: '), got)
            self.assertFalse(client.has_input())
            return
        rest = got + client.read_until_closed()
        self.assertTrue(half.startswith(rest), rest[-200:])

    def test_a_small_value_that_breaks_off_is_a_server_error(self):
        for ending in ('reset', 'close', 'wait_closed'):
            def behave(connection, ending=ending):
                for _ in connection.requests():
                    connection.send(b'VALUE k 0 20\r\nhalf')
                    getattr(connection, ending)()
                    return
            server = self.scripted(behave, name='s1')
            daemon = self.ketamad([server], pool={'request_timeout': '400ms'})
            with daemon.client() as client:
                client.send(b'get k\r\n')
                self.check_broken_value(client, b'VALUE k 0 20\r\nhalf')

    def test_replies_in_tiny_pieces_are_put_together(self):
        def behave(connection):
            for line, block in connection.requests():
                reply = answer_like_memcached(connection.server, line, block)
                for i in range(len(reply)):
                    connection.send(reply[i:i + 1])
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server])
        with daemon.client() as client:
            for i in range(20):
                self.assertEqual(client.ask(b'set k 0 0 %d\r\n%s\r\n' % (i, b'v' * i)), b'STORED\r\n')
                self.assertEqual(client.ask(b'get k x k\r\n'), b'VALUE k 0 %d\r\n%s\r\n' % (i, b'v' * i)
                                 + b'VALUE k 0 %d\r\n%s\r\nEND\r\n' % (i, b'v' * i))


AGAINST = os.environ.get('TEST_AGAINST') == 'memcached'

if __name__ == '__main__':
    main()
