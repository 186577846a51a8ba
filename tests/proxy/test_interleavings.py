"""What goes wrong only when two things happen at once: a reload, a failure, a client that leaves."""

import base64
import os
import signal
import socket
import threading
import time

from harness import (TIME_FACTOR, Ketamad, ProxyTest, ScriptedServer, accepts, answer_like_memcached, cpu_seconds,
                     free_port, is_readable, keys_of, main, never_answer, proxy_only, serve_items, server_line,
                     unittest, wait_until)

NEVER_EJECT = {'fall': 1000}
TWO = ('s1', 's2')


def value(key, text=b'x'):
    return b'VALUE %s 0 %d\r\n%s\r\n' % (key, len(text), text)


class Held:
    """A behaviour: serves honestly, but answers nothing until it is let go."""

    def __init__(self):
        self.go = threading.Event()

    def __call__(self, connection):
        for line, block in connection.requests():
            self.go.wait(60 * TIME_FACTOR)
            connection.send(answer_like_memcached(connection.server, line, block))


class InterleavingTest(ProxyTest):
    def state(self, daemon, name):
        for line in daemon.admin('servers'):
            if line.startswith('SERVER main/%s ' % name):
                return line.split('state=')[1].split()[0]
        return None

    def wait_for_state(self, daemon, name, *states, seconds=None):
        wait_until(lambda: self.state(daemon, name) in states, seconds,
                   '%s to be %s' % (name, ' or '.join(states)))

    def reload(self, daemon, text=None):
        daemon.write_conf(text)
        answer = daemon.admin('reload')
        self.assertIn('done', '\n'.join(answer))
        daemon.ask(b'mn\r\n')  # a worker that has answered goes by the new one from its next turn on

    @staticmethod
    def let_pass_unless(wrong, seconds):
        """Gives what must not happen the time to happen; the assertions behind it judge."""
        end = time.monotonic() + seconds
        wait_until(lambda: wrong() or time.monotonic() > end, seconds + 5)

    def wait_under_way(self, daemon, count):
        wait_until(lambda: int(daemon.admin_stats()['in_flight']) >= count, None,
                   '%d requests under way' % count)


@proxy_only
class AReloadMeetsRequestsUnderWay(InterleavingTest):
    def test_another_number_of_connections_while_requests_wait_for_one(self):
        hole = self.black_hole()
        daemon = self.ketamad([hole + ' name=s1'], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, connect_timeout='700ms', request_timeout='5s'))
        with daemon.client() as client:
            client.send(b'get k\r\nget k l m\r\nset k 0 0 1\r\nx\r\n')
            self.wait_under_way(daemon, 3)
            daemon.pool['connections'] = 3
            self.reload(daemon)
            for _ in range(3):
                self.assertRegex(client.read_reply(), rb'^SERVER_ERROR s1: connect timed out')

    def test_a_decoded_key_in_a_late_answer_is_nobody_elses_answer(self):
        """me gives back the bytes that a base64 key stands for, line ends and all."""
        go = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                words = line.split()
                if words[0] == b'me':
                    go.wait(60 * TIME_FACTOR)
                    connection.send(b'ME %s exp=-1 la=1 cas=1 fetch=no cls=1 size=60\r\n' % base64.b64decode(words[1]))
                elif words[0] == b'mg':
                    connection.send(b'VA 5\r\nright\r\n')
                else:
                    connection.send(answer_like_memcached(connection.server, line, block))
        servers = [self.scripted(behave, name='s%d' % i) for i in (1, 2)]
        daemon = self.ketamad(servers, proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, rejoin='keep', request_timeout='30s'))
        for length in (20, 180):  # beside the request, and in memory of its own
            go.clear()
            key = base64.b64encode(b'k\r\n' + b'EN\r\n' * ((length - 3) // 4))
            with daemon.client() as asker, daemon.client() as client:
                asked = [len(server.lines()) for server in servers]
                asker.send(b'me %s b\r\n' % key)
                wait_until(lambda: any(len(server.lines()) > n for server, n in zip(servers, asked)), None, 'the me')
                name = next(server.name for server, n in zip(servers, asked) if len(server.lines()) > n)
                daemon.admin('eject ' + name)
                self.wait_for_state(daemon, name, 'ejected')
                daemon.admin('restore ' + name)
                self.wait_for_state(daemon, name, 'live')
                client.send(b''.join(b'mg %s v\r\n' % key for key in keys_of(name, ('s1', 's2'))[:3]))
                self.wait_under_way(daemon, 4)
                go.set()
                for _ in range(3):
                    self.assertEqual(client.read_reply(), b'VA 5\r\nright\r\n')

    def test_requests_follow_their_key_through_any_number_of_reloads(self):
        hole, server = self.black_hole(), self.memcached('last')
        daemon = self.ketamad([hole + ' name=first'], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, connect_timeout='30s', request_timeout='30s'))
        with daemon.client() as client:
            client.send(b'set k 0 0 1\r\nx\r\nget k\r\nmn\r\n')
            self.wait_under_way(daemon, 3)
            for number in range(12):
                daemon.servers = ['%s name=other%d' % (hole, number)]
                self.reload(daemon)
            daemon.servers = [server]
            self.reload(daemon)
            self.assertEqual(client.read_reply(), b'STORED\r\n')
            self.assertEqual(client.read_reply(), value(b'k') + b'END\r\n')
            self.assertEqual(client.read_line(), b'MN\r\n')

    def test_a_clients_requests_for_a_key_stay_in_order_when_connections_change(self):
        go = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'set '):
                    go.wait(30 * TIME_FACTOR)
                connection.send(answer_like_memcached(connection.server, line, block))
        server = self.scripted(behave, name='s1')
        server.items[b'k'] = (b'0', b'old')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool=dict(NEVER_EJECT, request_timeout='30s'))
        with daemon.client() as client:
            for connections in (3, 1):
                go.clear()
                new = b'new%d' % connections
                client.send(b'set k 0 0 4\r\n%s\r\n' % new)
                self.wait_under_way(daemon, 1)
                daemon.pool['connections'] = connections
                self.reload(daemon)
                client.send(b'get k\r\nget k x\r\n')
                self.wait_under_way(daemon, 3)
                self.let_pass_unless(lambda: server.asked(b'get '), 0.3)
                go.set()
                self.assertEqual(client.read_reply(), b'STORED\r\n')
                for _ in range(2):
                    self.assertEqual(client.read_reply(), value(b'k', new) + b'END\r\n')

    def test_a_server_taken_out_while_it_hangs_and_put_in_again_carries_nothing_out_late(self):
        go, ended = threading.Event(), threading.Event()

        def behave(connection):
            held = False
            for line, block in connection.requests():
                if line.startswith(b'set ') and block == b'old':
                    held = go.wait(30 * TIME_FACTOR)
                connection.send(answer_like_memcached(connection.server, line, block))
            if held:
                ended.set()
        server, other = self.scripted(behave, name='s1'), self.memcached('s2')
        key = keys_of('s1', TWO)[0]
        for label in ('s1', 'again'):
            go.clear()
            ended.clear()
            daemon = self.ketamad([server, other], proxy={'workers': 1}, pool=dict(NEVER_EJECT, request_timeout='300ms'))
            self.assertRegex(daemon.ask(b'set %s 0 0 3\r\nold\r\n' % key), rb'^SERVER_ERROR s1: ')
            daemon.servers = [other]
            self.reload(daemon)
            daemon.servers = ['%s name=%s' % (server.address, label)]
            daemon.pool['request_timeout'] = '20s'
            self.reload(daemon)
            with daemon.client() as client:
                client.send(b'set %s 0 0 3\r\nnew\r\n' % key)
                self.let_pass_unless(client.has_input, 0.3)
                go.set()
                self.assertEqual(client.read_reply(), b'STORED\r\n')
            self.assertTrue(ended.wait(20 * TIME_FACTOR))
            self.assertEqual(server.items[key][1], b'new')

    def test_pools_in_another_order_while_a_request_waits(self):
        hole = self.black_hole()
        one, other = self.scripted(name='one'), self.scripted(name='other')
        one.items[b'a:k'] = (b'0', b'right')
        other.items[b'a:k'] = (b'0', b'wrong')
        proxy = '[proxy]\nadmin = {admin}\nworkers = 1\n'
        pool_a = '[pool a]\nlisten = {listen}\nprefix = a:\nconnect_timeout = 5s\nrequest_timeout = 5s\nserver = %s\n'
        pool_b = '[pool b]\nlisten = {listen}\nserver = ' + server_line(other) + '\n'
        daemon = self.ketamad(text=proxy + pool_a % (hole + ' name=one') + pool_b)
        with daemon.client() as client:
            client.send(b'get a:k\r\n')
            self.wait_under_way(daemon, 1)
            daemon.text = proxy + pool_b + pool_a % server_line(one)
            self.reload(daemon)
            self.assertEqual(client.read_reply(), value(b'a:k', b'right') + b'END\r\n')

    def test_a_listen_line_is_removed_while_its_clients_requests_fail_over(self):
        hole, other = self.black_hole(), self.memcached('s2')
        listens = ['127.0.0.1:%d' % free_port() for _ in range(2)]
        daemon = self.ketamad([hole + ' name=s1', other], listens=listens, proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, connect_timeout='700ms', request_timeout='5s'))
        client = self.client(listens[1])
        keys = keys_of('s1', TWO)[:3]
        client.send(b''.join(b'get %s\r\n' % key for key in keys))
        self.wait_under_way(daemon, 3)
        daemon.listens.pop()
        self.reload(daemon)
        for _ in keys:
            self.assertEqual(client.read_reply(), b'END\r\n')
        self.assertEqual(client.ask(b'mn\r\n'), b'MN\r\n')
        self.assertEqual(daemon.ask(b'mn\r\n'), b'MN\r\n')

    def test_a_listen_line_is_removed_under_load(self):
        daemon, _ = self.pool_of(1, listens=['127.0.0.1:%d' % free_port() for _ in range(2)])
        gone = daemon.listens.pop()
        both = daemon.listens + [gone]
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                try:
                    with socket.create_connection(('127.0.0.1', int(gone.split(':')[1])), 5) as sock:
                        while not stop.is_set():
                            sock.sendall(b'get a b c\r\nset k 0 0 1\r\nx\r\nget k\r\n' * 20)
                            if not sock.recv(1 << 16):
                                break
                except OSError:
                    pass
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                daemon.listens = [both[0]]
                self.reload(daemon)
                wait_until(lambda: not accepts(gone), None, 'the removed address to refuse')
                daemon.listens = list(both)
                self.reload(daemon)
                wait_until(lambda: accepts(gone), None, 'the address to accept again')
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_clients_of_a_listen_line_just_added_are_taken_by_every_worker(self):
        daemon, _ = self.pool_of(1, proxy={'workers': 6})
        listens = list(daemon.listens)
        steady = [self.client(listens[0]) for _ in range(12)]
        for _ in range(40):
            new = '127.0.0.1:%d' % free_port()
            daemon.listens = listens + [new]
            daemon.reload()
            wait_until(lambda: accepts(new), None, 'the new address to accept')
            clients = [self.client(new) for _ in range(12)]
            for client in clients:
                client.send(b'mn\r\n')
            for client in clients:
                self.assertEqual(client.read_line(), b'MN\r\n')
                client.close()
        for client in steady:
            self.assertEqual(client.ask(b'mn\r\n'), b'MN\r\n')

    def test_a_removed_address_refuses_and_can_be_had_again_while_its_client_is_served(self):
        behaviour = Held()
        server = self.scripted(behaviour, name='s1')
        directory = self.temporary_directory()
        gone = 'unix:%s/socket' % directory
        listens = ['127.0.0.1:%d' % free_port(), '127.0.0.1:%d' % free_port(), gone]
        daemon = self.ketamad([server], listens=list(listens), proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='30s'))
        for address in listens:
            wait_until(lambda a=address: accepts(a), None, 'ketamad to listen')
        clients = [self.client(listens[1]), self.client(gone)]
        for client in clients:
            client.send(b'get k\r\n')
        self.wait_under_way(daemon, 2)
        daemon.listens = listens[:1]
        self.reload(daemon)
        for address in listens[1:]:
            wait_until(lambda a=address: not accepts(a), None, 'the removed address to refuse')
        daemon.listens = list(listens)
        self.reload(daemon)
        behaviour.go.set()
        for client in clients:
            self.assertEqual(client.read_reply(), b'END\r\n')
            self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')
        for address in listens:
            with self.client(address) as client:
                self.assertEqual(client.ask(b'get k\r\n'), b'END\r\n')

    def test_an_answer_names_its_server_after_that_is_removed(self):
        behaviour = Held()
        slow, other = self.scripted(behaviour, name='s2'), self.scripted(name='s1')
        for down in (True, False):
            behaviour.go.clear()
            if down:
                other.refuse()
            else:
                other.accept()
            daemon = self.ketamad([other, slow], proxy={'workers': 1},
                                  pool=dict(NEVER_EJECT, on_failure='error', request_timeout='30s'))
            with daemon.client() as client:
                client.send(b'get %s\r\nget %s\r\nset %s 0 0 1\r\nx\r\n'
                            % (keys_of('s2', TWO)[0], keys_of('s1', TWO)[0], keys_of('s1', TWO)[1]))
                if down:
                    wait_until(lambda d=daemon: int(d.admin_stats()['backend_failures']) > 0, None,
                               's1 to fail')
                else:
                    wait_until(lambda: other.asked(b'set '), None, 's1 to be asked')
                del daemon.servers[0]
                self.reload(daemon)
                for _ in range(20):
                    daemon.ask(b'mn\r\n')  # turns of the worker, in which it frees what it may
                behaviour.go.set()
                self.assertEqual(client.read_reply(), b'END\r\n')
                for right in (rb'END', rb'STORED'):
                    self.assertRegex(client.read_reply(),
                                     rb'^SERVER_ERROR s1: connection refused' if down else right)

    def test_a_change_of_rules_lets_a_server_back(self):
        daemon, servers = self.pool_of(2, proxy={'workers': 1},
                                       pool={'rejoin': 'keep', 'rise': 10, 'probe_interval': '400ms', 'fall': 1})
        servers[0].kill()
        self.wait_for_state(daemon, 's1', 'ejected')
        servers[0].start()
        wait_until(lambda: daemon.admin('servers') and int(
            [line for line in daemon.admin('servers') if '/s1 ' in line][0]
            .split('failures=')[1].split()[0]) == 0, 5, 's1 to answer a probe')
        daemon.pool['rise'] = 1
        self.reload(daemon)
        self.wait_for_state(daemon, 's1', 'live')


@proxy_only
class ValuesOfServersThatWereOut(InterleavingTest):
    def pool_with_old_value(self, **options):
        daemon, servers = self.pool_of(2, **options)
        key = keys_of('s1', TWO)[0]
        self.assertEqual(daemon.ask(b'set %s 0 0 3\r\nold\r\n' % key), b'STORED\r\n')
        return daemon, servers, key

    def test_another_number_of_connections_meanwhile_loses_no_note(self):
        daemon, _, key = self.pool_with_old_value(proxy={'workers': 1})
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        self.assertEqual(daemon.ask(b'set %s 0 0 3\r\nnew\r\n' % key), b'STORED\r\n')
        daemon.pool['connections'] = 2
        self.reload(daemon)
        daemon.admin('restore s1')
        self.wait_for_state(daemon, 's1', 'live')
        self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'END\r\n')

    def test_keys_of_any_bytes_are_deleted(self):
        daemon, servers, _ = self.pool_with_old_value(proxy={'workers': 1})
        keys = [b'%d\x01\t\x7f\xff' % i + b'k' * 230 for i in range(20)] + [b'%d\r' % i for i in range(20)]
        with daemon.client() as client:
            for text in (b'old', b'new'):
                for key in keys:
                    self.assertEqual(client.ask(b'set %s 0 0 3\r\n%s\r\n' % (key, text)), b'STORED\r\n')
                if text == b'old':
                    daemon.admin('eject s1')
                    self.wait_for_state(daemon, 's1', 'ejected')
            daemon.admin('restore s1')
            self.wait_for_state(daemon, 's1', 'live')
            for key in keys:
                client.send(b'get %s\r\n' % key)
                reply = client.barrier()
                self.assertIn(reply, (b'END\r\n', value(key, b'new') + b'END\r\n'))

    def test_bringing_a_server_up_to_date_may_take_its_time(self):
        """Longer than what is waited for late replies: it must not be begun a second time."""
        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'delete '):
                    connection.wait(0.4)
                connection.send(answer_like_memcached(connection.server, line, block))
        slow, other = self.scripted(behave, name='s1'), self.memcached('s2')
        keys = keys_of('s1', TWO)[:32]
        slow.items.update((key, (b'0', b'old')) for key in keys)
        slow.items[b'kept'] = (b'0', b'kept')
        daemon = self.ketamad([slow, other], proxy={'workers': 1})
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        with daemon.client() as client:
            for key in keys:
                self.assertEqual(client.ask(b'set %s 0 0 3\r\nnew\r\n' % key), b'STORED\r\n')
        daemon.admin('restore s1')
        self.wait_for_state(daemon, 's1', 'live', seconds=25)
        with daemon.client() as client:
            for key in keys:
                self.assertEqual(client.ask(b'get %s\r\n' % key), b'END\r\n')
        self.assertIn(b'kept', slow.items)

    def test_no_get_falls_back_on_copies_that_could_not_be_noted(self):
        daemon, servers, key = self.pool_with_old_value(proxy={'workers': 1},
                                                        pool={'fall': 1000, 'request_timeout': '5s'})
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        with daemon.client() as client:
            for start in range(0, 110000, 1000):
                client.send(b''.join(b'set %d%s 0 0 3 noreply\r\nold\r\n' % (i, b'k' * 230)
                                     for i in range(start, start + 1000)))
                client.barrier()
            tainted = [b'%d%s' % (i, b'k' * 230) for i in range(109000, 110000)]
            daemon.admin('restore s1')
            self.wait_for_state(daemon, 's1', 'live')
            for each in tainted:
                self.assertEqual(client.ask(b'set %s 0 0 3\r\nnew\r\n' % each), b'STORED\r\n')
            servers[0].kill()
            for each in tainted:
                reply = client.ask(b'get %s\r\n' % each)
                self.assertTrue(reply == value(each, b'new') + b'END\r\n'
                                or reply.startswith(b'SERVER_ERROR s1: '), reply)


    def test_a_server_that_dies_while_its_stand_ins_lose_their_copies_fails_no_get(self):
        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'delete '):
                    connection.wait(0.6)
                connection.send(answer_like_memcached(connection.server, line, block))
        dying, other = self.memcached('s1'), self.scripted(behave, name='s2')
        daemon = self.ketamad([dying, other], proxy={'workers': 1},
                              pool={'probe_interval': '50ms', 'fall': 2, 'rise': 1, 'min_live': '0%',
                                    'request_timeout': '5s'})
        keys = keys_of('s1', TWO)
        for asked in (b'get %s\r\n' % keys[0], b'get %s %s\r\n' % (keys[0], keys_of('s2', TWO)[0])):
            daemon.admin('eject s1')
            self.wait_for_state(daemon, 's1', 'ejected')
            self.assertEqual(daemon.ask(b'set %s 0 0 4\r\ncopy\r\n' % keys[0]), b'STORED\r\n')
            with daemon.client() as client:
                daemon.admin('restore s1')
                self.wait_for_state(daemon, 's1', 'live')
                self.assertEqual(client.ask(b'set %s 0 0 3\r\nnew\r\n' % keys[0]), b'STORED\r\n')
                dying.kill()
                while self.state(daemon, 's1') != 'ejected':
                    self.assertEqual(client.ask(asked), b'END\r\n')
                self.assertEqual(client.ask(asked), b'END\r\n')
            dying.start()
            self.wait_for_state(daemon, 's1', 'live', seconds=20)

    def test_what_a_connection_cut_off_still_holds_is_not_carried_out(self):
        """The server does not read it for long; the proxy's kernel has the rest of a write for it."""
        go, ended = threading.Event(), threading.Event()
        go.set()

        def behave(connection):
            is_held = False
            fill = connection.fill

            def fill_when_let():
                while is_held and not is_readable(connection.sock, 0.01):
                    pass
                if is_held:
                    go.wait(60 * TIME_FACTOR)
                return fill()
            connection.fill = fill_when_let
            for line, block in connection.requests():
                connection.send(answer_like_memcached(connection.server, line, block))
                is_held = is_held or line.startswith(b'set ')
            if is_held:
                ended.set()
        slow = ScriptedServer(behave, 's1', receive_buffer=4096)
        self.start(slow)
        daemon = self.ketamad([slow, self.memcached('s2')], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='300ms'))
        key = keys_of('s1', TWO)[0]
        self.assertEqual(daemon.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')
        go.clear()
        self.assertRegex(daemon.ask(b'set %s 0 0 40000\r\n%s\r\n' % (key, b'o' * 40000)), rb'^SERVER_ERROR s1: ')
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        daemon.admin('restore s1')
        self.wait_for_state(daemon, 's1', 'live', seconds=25)
        self.assertEqual(daemon.ask(b'set %s 0 0 6\r\nnewest\r\n' % key), b'STORED\r\n')
        go.set()
        self.assertTrue(ended.wait(10 * TIME_FACTOR))
        self.assertEqual(slow.items[key][1], b'newest')

    def a_flush_reaches_a_server_that_goes(self, flush_and_go):
        """flush_and_go(daemon, client) flushes and takes s1 out, or the other way round, while s1 owes a get."""
        go = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'get '):
                    go.wait(30 * TIME_FACTOR)
                connection.send(answer_like_memcached(connection.server, line, block))
        leaving = self.scripted(behave, name='s1')
        leaving.items[b'kept'] = (b'0', b'old')
        daemon = self.ketamad([leaving, self.memcached('s2')], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='30s'))
        with daemon.client() as reader, daemon.client() as other:
            reader.send(b'get %s\r\n' % keys_of('s1', TWO)[0])
            wait_until(lambda: leaving.asked(b'get '), None, 's1 to be asked')
            flush_and_go(daemon, other)
            go.set()
        daemon.admin('restore s1')
        self.wait_for_state(daemon, 's1', 'live')
        self.assertNotIn(b'kept', leaving.items)

    def test_a_flush_held_while_a_server_leaves_is_done_at_its_return(self):
        def flush_and_go(daemon, other):
            daemon.admin('drain s1')
            self.wait_for_state(daemon, 's1', 'leaving')
            self.assertEqual(other.ask(b'flush_all\r\n'), b'OK\r\n')
        self.a_flush_reaches_a_server_that_goes(flush_and_go)

    def test_a_flush_under_way_when_a_server_goes_out_is_done_at_its_return(self):
        def flush_and_go(daemon, other):
            other.send(b'flush_all\r\n')
            self.wait_under_way(daemon, 2)
            daemon.admin('eject s1')
            self.assertEqual(other.read_reply(), b'OK\r\n')
        self.a_flush_reaches_a_server_that_goes(flush_and_go)

    def test_writes_answered_late_are_not_noted_for_ever(self):
        """Notes of a server that is never out must not add up until they overflow."""
        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'set '):
                    connection.wait(0.3 * TIME_FACTOR)
                connection.send(answer_like_memcached(connection.server, line, block))
        slow = self.scripted(behave, name='s1')
        daemon = self.ketamad([slow, self.memcached('s2')], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='%dms' % (100 * TIME_FACTOR)))
        for key in keys_of('s1', TWO)[:4]:
            self.assertRegex(daemon.ask(b'set %s 0 0 1\r\nx\r\n' % key), rb'^SERVER_ERROR s1: ')
            wait_until(lambda k=key: k in slow.items, None, 's1 to carry it out')
        wait_until(lambda: int(daemon.admin_stats()['late_replies']) == 4, None, 'the late replies')
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 1.2, None, 'a second to pass')
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        daemon.admin('restore s1')
        self.wait_for_state(daemon, 's1', 'live')
        self.assertTrue(daemon.log_has(r'server s1 is live again after [0-9.]+ s, 0 keys deleted'))

    def test_a_write_that_a_stand_in_may_still_carry_out_is_waited_for(self):
        """It timed out there, its connection was given up: a copy noted before it would come after."""
        late = threading.Event()

        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'set ') and block == b'old':
                    late.wait(30 * TIME_FACTOR)
                connection.send(answer_like_memcached(connection.server, line, block))
        other = self.scripted(behave, name='s2')
        daemon = self.ketamad([self.memcached('s1'), other], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='100ms'))
        key = keys_of('s1', TWO)[0]
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        self.assertRegex(daemon.ask(b'set %s 0 0 3\r\nold\r\n' % key), rb'^SERVER_ERROR s2: ')
        wait_until(lambda: daemon.log_has('server s2: request timed out'), None, 's2 to be given up')
        daemon.admin('restore s1')
        end = time.monotonic() + 2
        wait_until(lambda: self.state(daemon, 's1') == 'live' or time.monotonic() > end)
        late.set()
        self.wait_for_state(daemon, 's1', 'live')
        self.assertEqual(daemon.ask(b'set %s 0 0 3\r\nnew\r\n' % key), b'STORED\r\n')
        wait_until(lambda: key not in other.items, None, 'the copy to be deleted')
        daemon.admin('eject s1')
        self.wait_for_state(daemon, 's1', 'ejected')
        self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'END\r\n')


@proxy_only
class ClientsAndTheirOrder(InterleavingTest):
    def test_out_of_memory_is_said_behind_the_answers_due_before(self):
        behaviour = Held()
        server = self.scripted(behaviour, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1, 'max_memory': '1m'},
                              pool=dict(NEVER_EJECT, request_timeout='30s'))
        with daemon.client() as client:
            client.send(b'get a\r\nget b\r\nset big 0 0 1000000\r\n' + b'x' * 1000)
            self.wait_under_way(daemon, 3)
            behaviour.go.set()
            self.assertEqual(client.read_until_closed(),
                             b'END\r\nEND\r\nSERVER_ERROR out of memory\r\n')

    def test_a_client_that_leaves_within_a_refused_value_is_forgotten(self):
        daemon, _ = self.pool_of(1, proxy={'workers': 1, 'drain_timeout': '60s'})
        for how in ('close', 'finish', 'reset'):
            for head in (b'set k 0 0 2000000\r\n', b'set k x 0 2000000\r\n', b'ms k 2000000\r\n'):
                client = daemon.client()
                client.send(b'mn\r\n' + head + b'x' * 1000)
                self.assertEqual(client.read_line(), b'MN\r\n')
                if how == 'finish':
                    client.finish_sending()
                    client.wait_closed()
                client.reset() if how == 'reset' else client.close()
        wait_until(lambda: daemon.admin_stats()['curr_connections'] == '0', None,
                   'the clients to be gone')

    def test_a_pipeline_deeper_than_what_may_be_under_way_does_not_stall(self):
        def behave(connection):
            n = 0
            for _ in connection.requests():
                n += 1
                if n == 64:
                    connection.send(b'END\r\n' * 64)
                elif n == 100:
                    connection.send(b'END\r\n' * 36)
        for _ in range(3):
            server = self.scripted(behave, name='s1')
            daemon = self.ketamad([server], proxy={'workers': 1})
            with daemon.client() as client:
                began = time.monotonic()
                client.send(b'get k\r\n' * 100)
                for _ in range(100):
                    self.assertEqual(client.read_reply(), b'END\r\n')
                self.assertLess(time.monotonic() - began, 0.2 * TIME_FACTOR)

    def test_what_was_read_before_the_proxy_stops_is_answered(self):
        behaviour = Held()
        server = self.scripted(behaviour, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool=dict(NEVER_EJECT, request_timeout='30s'))
        with daemon.client() as client:
            client.send(b'get k\r\n' * 1000)
            self.wait_under_way(daemon, 64)
            daemon.send_signal(signal.SIGTERM)
            wait_until(lambda: daemon.log_has('stopping'), None, 'the proxy to stop')
            behaviour.go.set()
            self.assertEqual(client.read_until_closed(), b'END\r\n' * 1000)
        self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)

    def test_clients_that_come_in_a_burst_are_spread_over_the_workers(self):
        daemon, _ = self.pool_of(1, proxy={'workers': 4})
        host, port = daemon.address.split(':')
        daemon.send_signal(signal.SIGSTOP)
        for _ in range(200):
            sock = socket.socket()
            self.addCleanup(sock.close)
            sock.setblocking(False)
            try:
                sock.connect((host, int(port)))
            except BlockingIOError:
                pass
        daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: int(daemon.admin_stats()['curr_connections']) == 200, None, 'the clients')
        held = [int(line.split()[2]) for line in daemon.admin('stats workers')
                if line.split()[1].endswith(':curr_connections')]
        self.assertEqual(len(held), 4)
        self.assertLessEqual(max(held) - min(held), 20, held)

    def test_a_value_that_drips_in_costs_no_more_than_its_bytes(self):
        daemon, _ = self.pool_of(1, proxy={'workers': 1, 'max_value_size': '64m'},
                                 memcached={'options': ['-I', '128m', '-m', '512']})
        size = 60 << 20
        with daemon.client() as client:
            client.send(b'set k 0 0 %d\r\n' % size + b'x' * (size - 500))
            before = None
            for i in range(400):
                client.send(b'x')
                wait_until(lambda: True)
                if i == 0:
                    before = cpu_seconds(daemon.pid)
                time.sleep(0.001)
            client.send(b'x' * 100 + b'\r\n')
            self.assertEqual(client.read_line(), b'STORED\r\n')
        self.assertLess(cpu_seconds(daemon.pid) - before, 1.5 * TIME_FACTOR)


    def test_held_requests_of_pools_with_other_timeouts_fail_in_their_own_time(self):
        """A gate stays closed as long as a stand-in may still carry out a write on its behalf."""
        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'set '):
                    connection.wait_closed()
                    connection.wait(30)
                    return
                connection.send(answer_like_memcached(connection.server, line, block))
        servers = [self.memcached('s1'), self.scripted(behave, name='s2')]
        text = '[proxy]\nadmin = {admin}\nworkers = 1\n'
        for name, timeout in (('slow', '30s'), ('quick', '100ms')):
            text += '[pool %s]\nlisten = {listen}\nfall = 1000\nrequest_timeout = %s\n' % (name, timeout)
            text += 'prefix = %s:\n' % name + ''.join('server = %s\n' % server_line(one) for one in servers)
        daemon = self.ketamad(text=text)

        def count(state):
            return '\n'.join(daemon.admin('servers')).count('state=%s ' % state)
        names = {}
        for pool in (b'slow', b'quick'):
            keys = [b'%s:%d' % (pool, i) for i in range(20)]
            for key in keys:
                daemon.ask(b'get %s\r\n' % key)
            names[pool] = next(key for key in keys if not servers[1].asked(b'get %s' % key))
        with daemon.client() as writer, daemon.client() as one, daemon.client() as other:
            for pool, key in names.items():
                daemon.admin('eject %s/s1' % pool.decode())
            wait_until(lambda: count('ejected') == 2, None, 's1 to be out')
            for key in names.values():
                writer.send(b'set %s 0 0 1\r\nx\r\n' % key)
            self.wait_under_way(daemon, 2)
            for pool in names:
                daemon.admin('restore %s/s1' % pool.decode())
            wait_until(lambda: count('joining') == 2, 30, 'both to join')
            one.send(b'get %s\r\n' % names[b'slow'])
            other.send(b'get %s\r\n' % names[b'quick'])
            wait_until(lambda: other.has_input() or count('joining') == 0, None, 'an answer')
            self.assertTrue(other.has_input(), 'held for as long as the gate was closed')
            self.assertRegex(other.read_reply(), rb'^SERVER_ERROR s1: request timed out')

    def test_the_proxy_may_stop_while_requests_are_held(self):
        def behave(connection):
            for line, block in connection.requests():
                if line.startswith(b'set '):
                    connection.wait_closed()
                    return
                connection.send(answer_like_memcached(connection.server, line, block))
        daemon = self.ketamad([self.memcached('s1'), self.scripted(behave, name='s2')],
                              proxy={'workers': 1}, pool=dict(NEVER_EJECT, request_timeout='30s'))
        key = keys_of('s1', TWO)[0]
        with daemon.client() as writer, daemon.client() as reader:
            daemon.admin('eject s1')
            self.wait_for_state(daemon, 's1', 'ejected')
            writer.send(b'set %s 0 0 1\r\nx\r\n' % key)
            self.wait_under_way(daemon, 1)
            daemon.admin('restore s1')
            self.wait_for_state(daemon, 's1', 'joining')
            reader.send(b'set %s 0 0 1\r\nx\r\nget %s x y z\r\n' % (key, key))
            self.wait_under_way(daemon, 3)
            daemon.send_signal(signal.SIGTERM)
            wait_until(lambda: daemon.log_has('stopping'), None, 'the first signal')
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(10 * TIME_FACTOR), 0)


@proxy_only
class TheStart(InterleavingTest):
    """Names are looked up before anything is served; whoever calls meanwhile waits."""

    NAMES = ['nowhere-%d.invalid:11211 name=s%d' % (i, i) for i in range(3)]

    def test_a_signal_during_it_is_heard(self):
        for _ in range(5):
            daemon = self.ketamad(self.NAMES)
            self.assertEqual(daemon.terminate(), 0)

    def test_a_reload_during_it_is_done_afterwards(self):
        daemon = self.ketamad(self.NAMES)
        daemon.send_signal(signal.SIGHUP)
        wait_until(lambda: daemon.log_has('reload: done'), None, 'the reload')

    def test_the_admin_port_answers_after_it(self):
        for _ in range(5):
            daemon = self.ketamad(self.NAMES)
            self.assertEqual(len(daemon.admin('servers')), 3)
            self.assertEqual(daemon.terminate(), 0)


@proxy_only
class TimersAreAlwaysSet(InterleavingTest):
    def test_requests_behind_one_that_timed_out_fail_in_time(self):
        server = self.scripted(never_answer, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='300ms'))
        with daemon.client() as client:
            for _ in range(3):
                began = time.monotonic()
                self.assertRegex(client.ask(b'get k\r\n'), rb'^SERVER_ERROR s1: ')
                self.assertLess(time.monotonic() - began, 0.3 + 0.25 * TIME_FACTOR)

    def test_a_write_goes_to_a_server_as_soon_as_that_is_tried_again(self):
        server, other = self.scripted(serve_items, name='s1'), self.memcached('s2')
        server.refuse()
        daemon = self.ketamad([server, other], proxy={'workers': 1},
                              pool=dict(NEVER_EJECT, request_timeout='3s'))
        keys = keys_of('s1', TWO)
        with daemon.client() as client:
            client.ask(b'get %s\r\n' % keys_of('s2', TWO)[0])
            end = time.monotonic() + 1.5
            while time.monotonic() < end:  # the pause between two tries grows to its longest
                client.ask(b'get %s\r\n' % keys[0])
            server.accept()
            began = time.monotonic()
            self.assertEqual(client.ask(b'set %s 0 0 1\r\nx\r\n' % keys[0]), b'STORED\r\n')
            self.assertLess(time.monotonic() - began, 1 * TIME_FACTOR)

    def test_a_connection_that_falls_silent_for_good_does_not_keep_a_living_server_away(self):
        """As behind a firewall that forgot it: no answer, no end, while the server is well."""
        def behave(connection):
            is_probe = True
            for line, block in connection.requests():
                if not connection.server.mode:
                    connection.server.mode = connection
                if connection.server.mode is connection:
                    connection.server.stopping.wait(120)
                    return
                connection.send(answer_like_memcached(connection.server, line, block))
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], proxy={'workers': 1}, pool={'request_timeout': '200ms'})
        with daemon.client() as client:
            self.assertRegex(client.ask(b'get k\r\n'), rb'^SERVER_ERROR s1: ')
            wait_until(lambda: client.ask(b'get k\r\n') == b'END\r\n', 20, 's1 to serve again')


if __name__ == '__main__':
    main()
