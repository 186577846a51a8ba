"""The everyday: every command through three servers, listeners, pools, sizes, stats."""

import base64
import random
import socket

from harness import (KETAMAD, Client, Memcached, ProxyTest, SameTest, free_port, has_ipv6, keys_of, main, os,
                     proxy_only, run_tool, unittest, wait_until)


class EveryCommand(SameTest):
    def test_the_life_of_an_item(self):
        self.same(b'set k 1 0 1\r\na\r\nget k\r\nadd k 0 0 1\r\nb\r\nreplace k 2 0 1\r\nc\r\n'
                  b'append k 0 0 1\r\nd\r\nprepend k 0 0 1\r\nb\r\nget k\r\ndelete k\r\n'
                  b'delete k\r\nget k\r\nreplace k 0 0 1\r\nx\r\nappend k 0 0 1\r\nx\r\nadd k 0 0 1\r\n5\r\n'
                  b'incr k 37\r\ndecr k 2\r\nget k\r\ntouch k 0\r\ngat 0 k\r\nbget k\r\n',
                  b'STORED\r\nVALUE k 1 1\r\na\r\nEND\r\nNOT_STORED\r\nSTORED\r\nSTORED\r\nSTORED\r\n'
                  b'VALUE k 2 3\r\nbcd\r\nEND\r\nDELETED\r\nNOT_FOUND\r\nEND\r\nNOT_STORED\r\n'
                  b'NOT_STORED\r\nSTORED\r\n42\r\n40\r\nVALUE k 0 2\r\n40\r\nEND\r\nTOUCHED\r\n'
                  b'VALUE k 0 2\r\n40\r\nEND\r\nVALUE k 0 2\r\n40\r\nEND\r\n')

    def test_many_keys_each_live_through_everything(self):
        request = []
        for i in range(300):
            key = b'key-%d' % i
            request.append(b'set %s %d 0 2\r\n10\r\nincr %s %d\r\nget %s nope\r\nadd %s 0 0 1\r\nx\r\n'
                           b'prepend %s 0 0 1\r\n1\r\nmg %s v f k s Oo%d\r\nma %s\r\nmd %s q\r\nmg %s\r\n'
                           % (key, i, key, i, key, key, key, key, i, key, key, key))
        self.same(b''.join(request))

    def test_cas_goes_where_its_gets_went(self):
        with self.daemon.client() as client:
            for i in range(50):
                key = b'c%d' % i
                client.ask(b'set %s 0 0 1\r\na\r\n' % key)
                unique = client.ask(b'gets %s\r\n' % key).split()[4]
                self.assertEqual(client.ask(b'cas %s 0 0 1 %s\r\nb\r\n' % (key, unique)), b'STORED\r\n')
                self.assertEqual(client.ask(b'cas %s 0 0 1 %s\r\nc\r\n' % (key, unique)), b'EXISTS\r\n')
                self.assertEqual(client.ask(b'get %s\r\n' % key), b'VALUE %s 0 1\r\nb\r\nEND\r\n' % key)
                self.assertEqual(client.ask(b'cas no%s 0 0 1 1\r\nc\r\n' % key), b'NOT_FOUND\r\n')

    def test_meta_flags_come_back_in_the_order_asked(self):
        self.same(b'ms a 3 F5 T0\r\nabc\r\nmg a k Oabc t f s v\r\nmg a s f t Oabc k v\r\nmg a v\r\nmg a h t\r\n'
                  b'ms c 2 S9\r\nxx\r\nms b 2 k O1 F7\r\nhi\r\nma n N0 J13 v t k O9\r\nma n v\r\nma n MD D3 v\r\n'
                  b'md b k O7\r\nmd b k O7\r\nmg nope k O1 s v\r\n')

    def test_meta_modes(self):
        self.same(b'ms k 1 ME\r\na\r\nms k 1 ME\r\nb\r\nms k 1 MA\r\nc\r\nms k 1 MP\r\nd\r\nms k 1 MR\r\ne\r\n'
                  b'mg k v\r\nms no 1 MR\r\nx\r\nms no 1 MA\r\nx\r\nms no 1 MA N0\r\nx\r\nmg no v\r\n'
                  b'ms k 1 Me\r\nx\r\nms k 1 MS\r\nz\r\nmg k v\r\nms n 1\r\n5\r\nma n M+ D2 v\r\nma n M- D3 v\r\n'
                  b'ma n MX\r\n')

    def test_vivify_stale_and_win_flags(self):
        self.same(b'mg viv N30 v c t\r\n'.replace(b' c', b'') + b'mg viv N30 v\r\nmd viv I T30\r\n'
                  b'mg viv v\r\nms viv 1 T0\r\nx\r\nmg viv v\r\nmd viv I\r\nmg viv v\r\nmg viv v\r\n')

    def test_base64_keys_meet_their_plain_names(self):
        for key in (b'a', b'foo', b'some-key', b'k' * 100):
            encoded = base64.b64encode(key)
            self.same(b'set %s 0 0 2\r\nhi\r\nmg %s b v\r\nmg %s b v k\r\nms %s 3 b\r\nnew\r\nget %s\r\n'
                      b'mg %s b k v O1\r\nmg %s k v\r\nmd %s b\r\nget %s\r\n'
                      % (key, encoded, encoded, encoded, key, encoded, key, encoded, key))

    def test_base64_of_binary_keys_and_of_no_keys(self):
        for raw in (b'\0\1\2', b'a b\r\n', bytes(range(256))[:180], b'\xff' * 10):
            encoded = base64.b64encode(raw)
            self.same(b'ms %s 2 b k\r\nhi\r\nmg %s b k v\r\nma %s b\r\nmd %s b k q\r\nmg %s b\r\n'
                      % ((encoded,) * 5))
        for bad in (b'$$$', b'abc', b'a', b'=', b'YQ', b'YQ=', b'YQ===', base64.b64encode(b'x' * 251)):
            self.same(b'mg %s b v\r\nmd %s b\r\nma %s b\r\n' % ((bad,) * 3))
            self.same(b'ms %s 2 b\r\nhi\r\nmn\r\n' % bad if len(bad) <= 250 else b'mn\r\n')

    def test_unknown_and_doubled_flags_are_answered_by_memcached(self):
        for flags in (b'~', b'E1', b'k k', b'v v', b'Z', b'O' + b'o' * 31, b'O' + b'o' * 32, b'P L', b'x', b'!',
                      b'k ' * 30, b'Tabc', b'N', b'T', b'R', b'D', b'Nabc', b'M', b'MXX', b'O', b'vv', b'q q', b'1'):
            with self.subTest(flags=flags):
                self.same(b'ms a 1\r\n5\r\nmg a %s\r\nma a %s\r\nmd a %s\r\nmg a v\r\n' % ((flags,) * 3))

    def test_me_shows_the_item(self):
        with self.daemon.client() as client:
            client.ask(b'set k 0 0 1\r\nx\r\n')
            self.assertRegex(client.ask(b'me k\r\n'), rb'^ME k exp=-1 la=\d+ cas=\d+ fetch=\w+ cls=\d+ size=\d+\r\n$')
        self.same(b'me nope\r\nme\r\n', b'EN\r\nCLIENT_ERROR bad command line format\r\n')

    def test_flush_all_empties_every_server(self):
        with self.daemon.client() as client:
            client.send(b''.join(b'set f%d 0 0 1 noreply\r\nx\r\n' % i for i in range(100)))
            self.assertEqual(client.ask(b'flush_all\r\n'), b'OK\r\n')
            self.assertEqual(client.ask(b'get ' + b' '.join(b'f%d' % i for i in range(100)) + b'\r\n'),
                             b'END\r\n')
            client.send(b'set a 0 0 1\r\nx\r\nflush_all noreply\r\nget a\r\n')
            self.assertEqual(client.barrier(), b'STORED\r\nEND\r\n')


@proxy_only
class LocalAnswers(ProxyTest):
    def test_version_is_the_lowest_of_the_servers_in_digits_and_dots(self):
        def behaves(version):
            def behave(connection):
                for line, _ in connection.requests(answer_version=False):
                    connection.send(b'VERSION %s\r\n' % version if line.startswith(b'version')
                                    else b'END\r\n')
            return behave
        servers = [self.scripted(behaves(version), name='s%d' % i) for i, version in
                   enumerate((b'1.6.18', b'1.5.22-rc1_debian', b'1.6.9'))]
        daemon = self.ketamad(servers)
        with daemon.client() as client:
            wait_until(lambda: client.ask(b'version\r\n') == b'VERSION 1.5.22\r\n', None,
                       'the lowest version')

    def test_version_is_answered_at_once_though_no_server_is_up(self):
        daemon = self.ketamad(['127.0.0.1:%d name=s1' % free_port()])
        with daemon.client() as client:
            client.send(b'version\r\n')
            self.assertRegex(client.barrier(), rb'^(VERSION \d+(\.\d+)+|SERVER_ERROR [^\r\n]+)\r\n$')

    def test_stats_sum_what_can_be_summed(self):
        daemon, servers = self.pool_of(3)
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(90)))
            client.send(b''.join(b'get k%d\r\n' % i for i in range(100)))
            client.barrier()
            reply = client.ask(b'stats\r\n')
        self.assertTrue(reply.endswith(b'END\r\n'))
        stats = dict(line.split(' ', 2)[1:] for line in reply.decode().split('\r\n')
                     if line.startswith('STAT'))
        for name, value in (('curr_items', 90), ('cmd_set', 90), ('get_hits', 90), ('get_misses', 10)):
            self.assertEqual(int(stats[name]), value, name)
            self.assertEqual(sum(int(server.stats()[name]) for server in servers), value, name)
        for name in ('pid', 'uptime', 'version', 'limit_maxbytes', 'bytes', 'curr_connections'):
            self.assertIn(name, stats)
        self.assertEqual(int(stats['limit_maxbytes']),
                         sum(int(server.stats()['limit_maxbytes']) for server in servers))

    def test_stats_groups_that_tools_ask_for_end_with_end(self):
        daemon, _ = self.pool_of(2)
        with daemon.client() as client:
            client.ask(b'set k 0 0 1\r\nx\r\n')
            for group in (b'items', b'slabs', b'sizes', b'settings'):
                with self.subTest(group=group):
                    client.send(b'stats ' + group + b'\r\n')
                    self.assertRegex(client.barrier(), rb'^(STAT [^\r\n]+\r\n)*END\r\n$')
            self.answers(client, b'stats reset\r\n', b'RESET\r\n')
            self.answers(client, b'stats nosuchgroup\r\n', b'ERROR\r\n')
            client.send(b'stats \r\n')
            self.assertRegex(client.barrier(), rb'^(STAT [^\r\n]+\r\n)+END\r\n$')

    def test_stats_take_their_place_in_a_pipeline(self):
        daemon, _ = self.pool_of(3)
        with daemon.client() as client:
            client.send(b'set a 0 0 1\r\nx\r\nstats\r\nget a\r\n')
            self.assertRegex(client.barrier(),
                             rb'^STORED\r\n(STAT [^\r\n]*\r\n)+END\r\nVALUE a 0 1\r\nx\r\nEND\r\n$')


@proxy_only
class WhereKeysGo(ProxyTest):
    def test_each_key_is_on_one_server_and_all_servers_are_used(self):
        daemon, servers = self.pool_of(3)
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(3000)))
            client.barrier()
        counts = [int(server.stats()['curr_items']) for server in servers]
        self.assertEqual(sum(counts), 3000)
        for count in counts:
            self.assertGreater(count, 600, counts)

    def test_two_daemons_of_one_list_agree(self):
        daemon, servers = self.pool_of(3)
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(500)))
            client.barrier()
        other = self.ketamad(servers)
        with other.client() as client:
            client.send(b'get ' + b' '.join(b'k%d' % i for i in range(500)) + b'\r\n')
            self.assertEqual(client.barrier().count(b'VALUE'), 500)

    def test_the_order_of_server_lines_moves_no_key(self):
        """Case 36."""
        daemon, servers = self.pool_of(3)
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(500)))
            client.barrier()
        for order in ((2, 0, 1), (1, 0, 2), (2, 1, 0)):
            other = self.ketamad([servers[i] for i in order])
            with other.client() as client:
                client.send(b'get ' + b' '.join(b'k%d' % i for i in range(500)) + b'\r\n')
                self.assertEqual(client.barrier().count(b'VALUE'), 500)

    def test_a_server_replaced_under_its_name_moves_no_key(self):
        daemon, servers = self.pool_of(3)
        twin = self.memcached('s2')
        other = self.ketamad([servers[0], twin, servers[2]])
        mine = keys_of('s2')[:50]
        for key in mine:
            other.ask(b'set %s 0 0 1\r\nx\r\n' % key)
        self.assertEqual(int(twin.stats()['curr_items']), 50)

    def test_a_tagged_part_of_the_key_places_it(self):
        daemon, servers = self.pool_of(3, pool={'hash_tag': '{}'})
        with daemon.client() as client:
            client.send(b''.join(b'set user{42}:%d 0 0 1 noreply\r\nx\r\n' % i for i in range(200)))
            client.barrier()
        self.assertEqual(sorted(int(server.stats()['curr_items']) for server in servers), [0, 0, 200])


class Listeners(ProxyTest):
    def roundtrip(self, address):
        with Client(address) as client:
            self.answers(client, b'set k 0 0 2\r\nhi\r\nget k\r\n',
                         b'STORED\r\nVALUE k 0 2\r\nhi\r\nEND\r\n')

    def test_a_unix_socket_listens(self):
        path = os.path.join(self.temporary_directory(), 'proxy.sock')
        daemon, _ = self.pool_of(2, listens=['unix:%s' % path])
        self.roundtrip(daemon.address)

    @proxy_only
    def test_a_unix_socket_takes_the_mode_it_is_given(self):
        path = os.path.join(self.temporary_directory(), 'proxy.sock')
        self.pool_of(1, listens=['unix:%s mode=0606' % path])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o606)

    @proxy_only
    def test_a_unix_socket_whose_backlog_is_full_is_not_taken_for_stale(self):
        path = os.path.join(self.temporary_directory(), 'busy.sock')
        with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as first:
            busy.bind(path)
            busy.listen(0)
            first.connect(path)
            with socket.socket(socket.AF_UNIX) as second:
                second.setblocking(False)
                with self.assertRaises(BlockingIOError):
                    second.connect(path)
            inode = os.stat(path).st_ino
            code, _, said = run_tool([KETAMAD, '--listen', 'unix:' + path, '--server', '127.0.0.1:1'], seconds=5)
            self.assertEqual(code, 1)
            self.assertIn(b'Address already in use', said)
            self.assertEqual(os.stat(path).st_ino, inode)

    def test_a_stale_unix_socket_is_replaced(self):
        path = os.path.join(self.temporary_directory(), 'proxy.sock')
        daemon, _ = self.pool_of(1, listens=['unix:%s' % path])
        daemon.process.kill()
        daemon.process.wait()
        daemon.expected_exit = -9
        self.assertTrue(os.path.exists(path))
        daemon.start()
        daemon.expected_exit = 0
        self.roundtrip(daemon.address)

    @unittest.skipUnless(has_ipv6(), 'no IPv6 here')
    def test_ipv6_listens(self):
        daemon, _ = self.pool_of(2, listens=['[::1]:%d' % free_port()])
        self.roundtrip(daemon.address)

    @proxy_only
    def test_several_listeners_serve_one_pool(self):
        path = os.path.join(self.temporary_directory(), 'proxy.sock')
        listens = ['127.0.0.1:%d' % free_port(), '127.0.0.1:%d' % free_port(), 'unix:' + path]
        daemon, _ = self.pool_of(2, listens=listens)
        for address in listens:
            self.roundtrip(address)
        for address in listens:
            with Client(address) as client:
                self.assertTrue(client.ask(b'get k\r\n').startswith(b'VALUE'))

    @proxy_only
    def test_an_address_in_use_is_said_and_ends_the_start(self):
        taken = self.memcached()
        daemon = self.ketamad([taken.address], listens=[taken.address], wait=False)
        daemon.expected_exit = 1
        self.assertEqual(daemon.process.wait(10), 1)
        self.assertIn(str(taken.port), daemon.stderr())


@proxy_only
class Servers(ProxyTest):
    def test_unix_and_ipv6_servers(self):
        path = os.path.join(self.temporary_directory(), 'mc.sock')
        servers = [self.memcached('s1'), self.memcached('s2', unix=path)]
        if has_ipv6():
            servers.append(self.memcached('s3', host='::1'))
        daemon = self.ketamad(servers)
        with daemon.client() as client:
            for i in range(300):
                client.send(b'set k%d 0 0 1 noreply\r\nx\r\n' % i)
            client.barrier()
        for server in servers:
            self.assertGreater(int(server.stats()['curr_items']), 30, server.address)

    def test_a_server_without_a_name_is_called_by_its_address(self):
        address = '127.0.0.1:%d' % free_port()
        daemon = self.ketamad([address])
        self.assertTrue(daemon.ask(b'get k\r\n').startswith(
            b'SERVER_ERROR %s: ' % address.encode()))

    def test_several_connections_to_a_server_are_made(self):
        daemon, servers = self.pool_of(1, pool={'connections': 3}, proxy={'workers': 1})
        clients = [self.client(daemon.address) for _ in range(9)]
        for client in clients:
            client.send(b'set k 0 0 1\r\nx\r\nget k\r\n')
        for client in clients:
            self.assertEqual(client.barrier(), b'STORED\r\nVALUE k 0 1\r\nx\r\nEND\r\n')
        stats = servers[0].stats()
        self.assertGreaterEqual(int(stats['curr_connections']), 3)

    def test_one_connection_serves_many_clients(self):
        daemon, servers = self.pool_of(1, proxy={'workers': 1})
        clients = [self.client(daemon.address) for _ in range(50)]
        before = int(servers[0].stats()['total_connections'])
        for i, client in enumerate(clients):
            self.assertEqual(client.ask(b'set k%d 0 0 1\r\nx\r\n' % i), b'STORED\r\n')
        self.assertLessEqual(int(servers[0].stats()['total_connections']) - before, 3)

    def test_workers_share_long_lived_clients_evenly(self):
        """No worker is left without clients, whatever the number of its siblings."""
        for workers in (1, 2, 4):
            daemon, _ = self.pool_of(2, proxy={'workers': workers})
            clients = [self.client(daemon.address) for _ in range(40)]
            for i, client in enumerate(clients):
                self.assertEqual(client.ask(b'set k%d 0 0 1\r\nx\r\n' % i), b'STORED\r\n')
                self.assertEqual(client.ask(b'get k%d\r\n' % i),
                                 b'VALUE k%d 0 1\r\nx\r\nEND\r\n' % i)


@proxy_only
class PrefixPools(ProxyTest):
    def setUp(self):
        super().setUp()
        self.servers = [self.memcached('m%d' % i) for i in range(4)]
        m = [server.address for server in self.servers]
        text = ('[proxy]\nadmin = {admin}\nworkers = 2\n'
                '[pool all]\nlisten = {listen}\nserver = %s\n'
                '[pool users]\nlisten = {listen}\nprefix = user:\nserver = %s\n'
                '[pool admins]\nlisten = {listen}\nprefix = user:admin:\nserver = %s\nserver = %s\n' % tuple(m))
        self.daemon = self.ketamad(text=text)

    def items(self):
        return [int(server.stats()['curr_items']) for server in self.servers]

    def test_the_longest_prefix_wins(self):
        with self.daemon.client() as client:
            client.send(b''.join(b'set x%d 0 0 1\r\nx\r\nset user:%d 0 0 1\r\nu\r\nset user:admin:%d 0 0 1\r\na\r\n'
                                 % (i, i, i) for i in range(40)) + b'set user 0 0 1\r\n-\r\n')
            self.assertEqual(client.barrier(), b'STORED\r\n' * 121)
            items = self.items()
            self.assertEqual(items[:2], [41, 40])
            self.assertEqual(items[2] + items[3], 40)
            self.assertTrue(items[2] and items[3])

    def test_a_multi_get_crosses_pools_in_order(self):
        with self.daemon.client() as client:
            client.send(b'set x 0 0 1\r\n1\r\nset user:1 0 0 1\r\n2\r\nset user:admin:1 0 0 1\r\n3\r\n')
            client.barrier()
            self.answers(client, b'get user:admin:1 nope x user:1 user:nope x\r\n',
                         b'VALUE user:admin:1 0 1\r\n3\r\nVALUE x 0 1\r\n1\r\nVALUE user:1 0 1\r\n2\r\n'
                         b'VALUE x 0 1\r\n1\r\nEND\r\n')

    def test_base64_keys_choose_their_pool_by_their_bytes(self):
        encoded = base64.b64encode(b'user:77')
        with self.daemon.client() as client:
            self.answers(client, b'ms %s 1 b\r\nx\r\nget user:77\r\n' % encoded,
                         b'HD\r\nVALUE user:77 0 1\r\nx\r\nEND\r\n')
        self.assertEqual(self.items(), [0, 1, 0, 0])

    def test_flush_all_reaches_every_pool_of_the_listener(self):
        with self.daemon.client() as client:
            client.send(b'set x 0 0 1\r\n1\r\nset user:1 0 0 1\r\n2\r\nset user:admin:1 0 0 1\r\n3\r\nflush_all\r\n'
                        b'get x user:1 user:admin:1\r\n')
            self.assertEqual(client.barrier(), b'STORED\r\n' * 3 + b'OK\r\nEND\r\n')


class Sizes(SameTest):
    def test_values_of_every_kind_of_size(self):
        choose = random.Random(1)
        for size in (0, 1, 2, 31, 100, 1023, 2047, 2048, 2049, 4095, 4096, 8191, 16383, 16384, 16385, 32768, 65535,
                     65536, 65537, 100000, 262144, 500000, 524288, 1000000, 1048000):
            with self.subTest(size=size):
                value = choose.randbytes(size)
                self.same(b'set k%d 3 0 %d\r\n%s\r\nget k%d a k%d\r\nmg k%d v s\r\n'
                          % (size, size, value, size, size, size))

    def test_the_limit_and_what_is_over_it(self):
        for size in (1048576 - 100, 1048576 - 60, 1048576 - 50, 1048576 - 49, 1048576 - 1, 1048576, 1048577, 1500000):
            with self.subTest(size=size):
                value = b'v' * size
                for verb in (b'set', b'add', b'replace', b'append', b'prepend', b'ms'):
                    head = (b'ms k %d' % size if verb == b'ms' else b'%s k 0 0 %d' % (verb, size))
                    self.same(b'set k 0 0 3\r\nold\r\n' + head + b'\r\n' + value + b'\r\nmg k v s\r\n'.replace(
                        b' v', b'') + b'get a\r\n')

    def test_too_large_and_the_old_value_is_gone_but_add_keeps_it(self):
        block = b'x' * 1048577
        self.same(b'set k 0 0 3\r\nold\r\nset k 0 0 1048577\r\n' + block + b'\r\nget k\r\n',
                  b'STORED\r\nSERVER_ERROR object too large for cache\r\nEND\r\n')
        self.same(b'set k 0 0 3\r\nold\r\nadd k 0 0 1048577\r\n' + block + b'\r\nget k\r\n',
                  b'STORED\r\nSERVER_ERROR object too large for cache\r\nVALUE k 0 3\r\nold\r\nEND\r\n')

    def test_a_multi_get_of_large_values(self):
        value = random.Random(2).randbytes(300000)
        for i in range(12):
            self.same(b'set big%d 0 0 300000\r\n%s\r\n' % (i, value), b'STORED\r\n')
        self.same(b'get ' + b' '.join(b'big%d' % (i % 14) for i in range(40)) + b'\r\n')

    def test_a_multi_get_of_100000_keys(self):
        with self.daemon.client() as client, self.reference.client() as one:
            stores = b''.join(b'set k%d 0 0 %d noreply\r\n%d\r\n' % (i, len(str(i)), i)
                              for i in range(0, 100000, 2))
            for each in (client, one):
                each.send(stores)
                each.barrier()
        self.same(b'get ' + b' '.join(b'k%d' % i for i in range(100000)) + b'\r\n')

    def test_a_smaller_limit_of_ones_own(self):
        if self.servers:
            daemon = self.ketamad(self.servers, proxy={'max_value_size': '1k'})
            with daemon.client() as client:
                value = b'v' * 1024
                self.answers(client, b'set k 0 0 1024\r\n' + value + b'\r\n', b'STORED\r\n')
                self.answers(client, b'add k 0 0 1025\r\n' + value + b'v\r\n',
                             b'SERVER_ERROR object too large for cache\r\n')
                self.answers(client, b'get k\r\n', b'VALUE k 0 1024\r\n' + value + b'\r\nEND\r\n')
                self.answers(client, b'set k 0 0 1025\r\n' + value + b'v\r\nget k\r\n',
                             b'SERVER_ERROR object too large for cache\r\nEND\r\n')
                self.answers(client, b'ms j 1025\r\n' + value + b'v\r\n',
                             b'SERVER_ERROR object too large for cache\r\n')
                self.answers(client, b'set k 0 0 1025 noreply\r\n' + value + b'v\r\n', b'')


if __name__ == '__main__':
    main()
