"""Health, ejection and names (cases 17 to 29)."""

import re
import time

from harness import (TIME_FACTOR, Client, ProxyTest, ScriptedServer, answer_like_memcached, cpu_seconds, has_admin,
                     keys_of, let_pass, main, never_answer, placement_of_names, unittest, wait_until, wrongs)

QUICK = {'probe_interval': '100ms', 'probe_timeout': '200ms', 'request_timeout': '300ms', 'fall': 2, 'rise': 1,
         'min_live': '0%'}
NAMES = ('s1', 's2', 's3')


@unittest.skipUnless(has_admin('servers'), 'no health yet')
class Ejection(ProxyTest):
    def test_exactly_the_keys_of_an_ejected_server_move(self):
        """Over the wire, with 10,000 keys, whichever server it is."""
        count = 10000
        owned = placement_of_names(NAMES, count)
        for dead, name in enumerate(NAMES):
            daemon, servers = self.pool_of(3, pool=QUICK)
            with daemon.client() as client:
                client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(count)))
                client.barrier()
                servers[dead].kill()
                daemon.wait_state(name, 'ejected')
                client.send(b''.join(b'get ' + b' '.join(b'k%d' % i for i in range(start, start + 100)) + b'\r\n'
                                     for start in range(0, count, 100)))
                found = {line.split()[1] for line in client.barrier().split(b'\r\n') if line.startswith(b'VALUE')}
            self.assertEqual(found, {key for other in NAMES if other != name for key in owned[other]})

    def test_a_dead_server_costs_clients_nothing_after_its_detection(self):
        """Case 21: steady traffic over ten periods of probing."""
        daemon, servers = self.pool_of(3, pool=QUICK)
        keys = [key for name in NAMES for key in keys_of(name)[:10]]
        with daemon.client() as client:
            servers[1].kill()
            daemon.wait_state('s2', 'ejected')
            begin = time.monotonic()
            while time.monotonic() - begin < 1.2 * TIME_FACTOR:
                for key in keys:
                    self.assertEqual(client.ask(b'get %s\r\n' % key), b'END\r\n')
                    self.assertEqual(client.ask(b'set %s 0 0 1 \r\nx\r\n' % key), b'STORED\r\n')
                    self.assertEqual(client.ask(b'delete %s\r\n' % key), b'DELETED\r\n')

    def test_a_get_on_a_fresh_failure_is_retried_on_the_new_owner(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, probe_interval=0, fall=1))
        key = keys_of('s2')[0]
        daemon.ask(b'get %s\r\n' % key)
        servers[1].kill()
        self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'END\r\n')

    def test_a_server_that_comes_back_is_restored(self):
        daemon, servers = self.pool_of(3, pool=QUICK)
        key = keys_of('s2')[0]
        for _ in range(2):
            servers[1].kill()
            daemon.wait_state('s2', 'ejected')
            self.assertEqual(daemon.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')
            servers[1].start()
            daemon.wait_state('s2', 'live', 30)
            self.assertEqual(daemon.ask(b'set %s 0 0 1\r\ny\r\n' % key), b'STORED\r\n')
            self.assertEqual(servers[1].ask(b'get %s\r\n' % key), b'VALUE %s 0 1\r\ny\r\nEND\r\n' % key)

    def test_a_hung_server_fails_fast_after_its_fall(self):
        """Case 25: SIGSTOP, gets one after another."""
        daemon, servers = self.pool_of(3, pool=dict(QUICK, request_timeout='8s'))
        keys = {name: keys_of(name)[0] for name in NAMES}
        with daemon.client() as client:
            for key in keys.values():
                client.ask(b'get %s\r\n' % key)
            servers[1].pause()
            daemon.wait_state('s2', 'ejected')
            for _ in range(50):
                began = time.monotonic()
                self.assertEqual(client.ask(b'get %s\r\n' % keys['s2']), b'END\r\n')
                self.assertLess(time.monotonic() - began, 2 * TIME_FACTOR)
            servers[1].resume()
        daemon.wait_state('s2', 'live', 30)

    def test_a_server_that_accepts_and_never_answers_is_dead(self):
        mute = self.scripted(never_answer, name='s2')
        daemon = self.ketamad([self.memcached('s1'), mute, self.memcached('s3')], pool=QUICK)
        daemon.wait_state('s2', 'ejected')
        self.assertEqual(daemon.ask(b'get %s\r\n' % keys_of('s2')[0]), b'END\r\n')

    def test_a_hung_server_is_noticed_by_noreply_traffic_alone(self):
        """Case 24."""
        daemon, servers = self.pool_of(3, pool=dict(QUICK, probe_interval=0))
        key = keys_of('s2')[0]
        daemon.ask(b'get %s\r\n' % key)
        servers[1].pause()
        with daemon.client() as client:
            def noticed():
                client.send(b'set %s 0 0 1 noreply\r\nx\r\n' % key)
                return daemon.state('s2') == 'ejected'
            wait_until(noticed, None, 's2 to be ejected')
        servers[1].resume()

    def test_passive_verdicts_alone_eject(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, probe_interval=0))
        key = keys_of('s2')[0]
        servers[1].kill()
        with daemon.client() as client:
            def noticed():
                client.ask(b'get %s\r\n' % key)
                return daemon.state('s2') == 'ejected'
            wait_until(noticed, None, 's2 to be ejected')

    def test_one_incident_counts_once(self):
        """Case 20: five connections, fall 3, a clean restart."""
        daemon, servers = self.pool_of(2, pool=dict(QUICK, connections=5, fall=3, probe_interval='30s'))
        clients = [self.client(daemon.address) for _ in range(10)]
        keys = keys_of('s2', ('s1', 's2'))[:10]
        for client, key in zip(clients, keys):
            self.assertEqual(client.ask(b'set %s 0 0 1\r\nx\r\n' % key), b'STORED\r\n')
        servers[1].restart()
        for client, key in zip(clients, keys):
            client.ask(b'get %s\r\n' % key)
        self.assertEqual(daemon.state('s2'), 'live')
        for client, key in zip(clients, keys):
            wait_until(lambda: client.ask(b'set %s 0 0 1\r\nx\r\n' % key) == b'STORED\r\n', None, 'the connection')
        self.assertEqual(daemon.state('s2'), 'live')
        self.assertEqual(int(servers[1].stats()['curr_items']), 10)

    def test_what_clients_do_never_counts_against_a_server(self):
        """Case 18. A probe may fail of itself where all is slow."""
        daemon, servers = self.pool_of(3, pool=dict(QUICK, probe_interval=0))
        key = keys_of('s2')[0]
        for i in range(200):
            with daemon.client() as client:
                client.send(b'set %s 0 0 3\r\nabcdef\r\nset %s 0 0 999999\r\nhalf' % (key, key))
                if i % 2:
                    client.reset()
        self.assertEqual(daemon.state('s2'), 'live')
        self.assertEqual(daemon.members()['s2']['failures'], '0')

    def test_idle_closes_never_count(self):
        """Case 19."""
        daemon, servers = self.pool_of(2, pool=dict(QUICK, fall=1, probe_interval='50ms'),
                                       memcached={'options': ['-o', 'idle_timeout=1']})
        key = keys_of('s2', ('s1', 's2'))[0]
        daemon.ask(b'set %s 0 0 1\r\nx\r\n' % key)
        wait_until(lambda: int(servers[1].stats()['idle_kicks']) >= 1, 30, 'an idle close')
        self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'VALUE %s 0 1\r\nx\r\nEND\r\n' % key)
        self.assertEqual(daemon.state('s2'), 'live')

    def test_slow_but_steady_answers_are_life(self):
        """Case 22."""
        def behave(connection):
            for line, block in connection.requests():
                connection.wait(0.002)
                connection.send(answer_like_memcached(connection.server, line, block))
        server = self.scripted(behave, name='s1')
        daemon = self.ketamad([server], pool=dict(QUICK, request_timeout='100ms'))
        clients = [self.client(daemon.address) for _ in range(40)]
        for client in clients:
            client.send(b'get k\r\n' * 20)
        for client in clients:
            for _ in range(20):
                client.read_reply()
        self.assertEqual(daemon.state('s1'), 'live')

    def test_min_live_stops_a_cascade(self):
        daemon, servers = self.pool_of(4, pool=dict(QUICK, min_live='50%'))
        for i in (0, 1):
            servers[i].kill()
            daemon.wait_state('s%d' % (i + 1), 'ejected')
        servers[2].kill()
        wait_until(lambda: daemon.state('s3') != 'live', None, 's3 to be found dead')
        self.assertEqual(self.ejected(daemon), ['s1', 's2'])
        servers[2].start()
        daemon.wait_state('s3', 'live', 30)

    def test_of_several_that_die_at_once_as_many_are_ejected_as_min_live_lets(self):
        daemon, servers = self.pool_of(5, pool=dict(QUICK, min_live='40%'))
        names = ['s%d' % (i + 1) for i in range(5)]
        for dead in ([0, 1, 2, 3], [4, 2, 1, 3], [1, 2]):
            for at in dead:
                servers[at].kill()
            wait_until(lambda d=dead: all(daemon.state(names[at]) in ('ejected', 'down') for at in d), None,
                       'all to be found dead')
            self.assertEqual(len(self.ejected(daemon)), min(3, len(dead)), daemon.members())
            for at in range(5):
                self.assertEqual(daemon.state(names[at]) == 'live', at not in dead)
            for at in dead:
                servers[at].start()
            for name in names:
                daemon.wait_state(name, 'live', 30)

    def test_of_several_ejected_by_hand_at_once_all_but_one_go(self):
        """They leave while the gates of the others are still closed."""
        slow = self.scripted(name='s1')
        daemon = self.ketamad([slow, self.memcached('s2'), self.memcached('s3')], pool=dict(QUICK, min_live='100%'))
        with Client(daemon.admin_address) as admin:
            admin.send(b'eject s1\r\neject s2\r\neject s3\r\n')
            wait_until(lambda: all(daemon.state(name) in ('ejected', 'down') for name in NAMES), None, 'all to be out')
        self.assertEqual(self.ejected(daemon), ['s1', 's2'])
        self.assertEqual(daemon.state('s3'), 'down')

    def test_one_that_could_not_be_ejected_is_once_another_returns(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, min_live='60%'))
        key = keys_of('s2')[0]
        servers[0].kill()
        daemon.wait_state('s1', 'ejected')
        servers[1].kill()
        daemon.wait_state('s2', 'down')
        servers[0].start()
        daemon.wait_state('s2', 'ejected', 30)
        self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'END\r\n')

    def test_one_that_could_not_be_ejected_is_once_a_reload_permits_it(self):
        for before, after in (({'min_live': '100%'}, {'min_live': '0%'}),
                              ({'on_failure': 'error'}, {'on_failure': 'eject'})):
            daemon, servers = self.pool_of(2, pool=dict(QUICK, **before))
            servers[0].kill()
            daemon.wait_state('s1', 'down')
            daemon.pool.update(after)
            daemon.reload()
            daemon.wait_state('s1', 'ejected')
            self.assertEqual(daemon.ask(b'get %s\r\n' % keys_of('s1', ('s1', 's2'))[0]), b'END\r\n')

    def test_one_that_could_not_be_ejected_is_once_servers_are_added(self):
        daemon, servers = self.pool_of(2, pool=dict(QUICK, min_live='60%'))
        servers[0].kill()
        daemon.wait_state('s1', 'down')
        daemon.servers.append(self.memcached('s3'))
        daemon.reload()
        daemon.wait_state('s1', 'ejected')

    @staticmethod
    def ejected(daemon):
        return sorted(name for name, one in daemon.members().items() if one['state'] == 'ejected')

    def test_on_failure_error_moves_no_key(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, on_failure='error'))
        key = keys_of('s2')[0]
        servers[1].kill()
        wait_until(lambda: daemon.state('s2') != 'live', None, 's2 to be found dead')
        with daemon.client() as client:
            began = time.monotonic()
            for _ in range(20):
                self.assertRegex(client.ask(b'get %s\r\n' % key), rb'^SERVER_ERROR s2: ')
                self.assertRegex(client.ask(b'set %s 0 0 1\r\nx\r\n' % key), rb'^SERVER_ERROR s2: ')
            self.assertLess(time.monotonic() - began, 1 * TIME_FACTOR)

    def test_on_failure_miss_answers_a_miss(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, on_failure='miss'))
        key = keys_of('s2')[0]
        servers[1].kill()
        with daemon.client() as client:
            wait_until(lambda: client.ask(b'get %s\r\n' % key) == b'END\r\n', None, 'a miss')
            self.assertEqual(client.ask(b'mg %s v\r\n' % key), b'EN\r\n')
            self.assertEqual(client.ask(b'get %s %s\r\n' % (key, keys_of('s1')[0])), b'END\r\n')

    def test_all_down_is_answered_at_once(self):
        """Case 27."""
        daemon, servers = self.pool_of(2, pool=QUICK)
        for server in servers:
            server.kill()
        with daemon.client() as client:
            wait_until(lambda: client.ask(b'get k\r\n').startswith(b'SERVER_ERROR '), None, 'the failure')
            for request in (b'get k\r\n', b'get a b c d e\r\n', b'set k 0 0 1\r\nx\r\n') * 5:
                began = time.monotonic()
                self.assertRegex(client.ask(request), rb'^SERVER_ERROR ')
                self.assertLess(time.monotonic() - began, 0.25 + 0.5 * TIME_FACTOR)
            for server in servers:
                server.start()
            wait_until(lambda: client.ask(b'get k\r\n') == b'END\r\n', 30, 'service')

    def test_modulo_keeps_the_keys_of_the_other_servers(self):
        """Case 29."""
        daemon, servers = self.pool_of(5, pool=dict(QUICK, placement='modulo'))
        with daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1 noreply\r\nx\r\n' % i for i in range(1000)))
            client.barrier()
            mine = int(servers[2].stats()['curr_items'])
            servers[2].kill()
            daemon.wait_state('s3', 'ejected')
            client.send(b'get ' + b' '.join(b'k%d' % i for i in range(1000)) + b'\r\n')
            self.assertEqual(client.barrier().count(b'VALUE'), 1000 - mine)

    def test_probes_back_off_from_a_dead_server(self):
        server = self.scripted(never_answer, name='s2')
        daemon = self.ketamad([self.memcached('s1'), server], pool=dict(QUICK, probe_interval='50ms', probe_timeout='50ms'))
        daemon.wait_state('s2', 'ejected')
        before = server.accepted
        let_pass(2)
        self.assertLess(server.accepted - before, 25)
        self.assertGreater(server.accepted - before, 0)

    def test_a_probe_that_hangs_while_the_next_is_due_costs_nothing(self):
        daemon, servers = self.pool_of(3, pool=dict(QUICK, probe_timeout='5s', fall=1))
        key = keys_of('s2')[0]
        with daemon.client() as client:
            servers[1].pause()
            client.ask(b'get %s\r\n' % key)
            daemon.wait_state('s2', 'ejected')
            let_pass(0.2)  # the next probe is due, the one under way gets no answer
            before = cpu_seconds(daemon.pid)
            let_pass(1)
            self.assertLess(cpu_seconds(daemon.pid) - before, 0.3 * TIME_FACTOR)

    def test_the_cause_and_the_last_error_are_told(self):
        daemon, servers = self.pool_of(2, pool=QUICK)
        servers[1].kill()
        daemon.wait_state('s2', 'ejected')
        member = daemon.members()['s2']
        self.assertTrue(member['cause'])
        self.assertIn('refused', (member['cause'] + member['last_error']).lower())
        self.assertTrue(daemon.log_has(r's2.*eject'))


@unittest.skipUnless(has_admin('servers'), 'no health yet')
class ByHand(ProxyTest):
    def test_eject_restore_and_drain(self):
        daemon, servers = self.pool_of(3)
        key = keys_of('s2')[0]
        for command, state in (('eject s2', 'ejected'), ('drain s2', 'drained')):
            daemon.ask(b'set %s 0 0 3\r\nold\r\n' % key)
            daemon.admin(command)
            daemon.wait_state('s2', state)
            self.assertEqual(daemon.ask(b'get %s\r\n' % key), b'END\r\n')
            daemon.admin('restore s2')
            daemon.wait_state('s2', 'live', 20)

    def test_eject_for_a_time_ends_by_itself(self):
        daemon, _ = self.pool_of(2, pool=QUICK)
        daemon.admin('eject s2 for 1s')
        daemon.wait_state('s2', 'ejected')
        gone = int(daemon.admin_stats()['keys_moved_ppm'])
        self.assertGreater(gone, 300000)
        daemon.wait_state('s2', 'live', 20)
        stats = daemon.admin_stats()  # the same keys moved back
        self.assertEqual(int(stats['keys_moved_ppm']), gone)
        self.assertAlmostEqual(int(stats['keys_moved_sum_ppm']), 2 * gone, delta=2)

    def events(self, daemon, pattern):
        return [line.split(' ', 1)[1] for line in daemon.admin('events') if re.search(pattern, line)]

    def test_the_log_says_once_what_the_operator_did(self):
        daemon, _ = self.pool_of(3, pool=dict(QUICK, rejoin='flush'))
        for command, state, said in (('eject main/s2', 'ejected', r'server s2 is ejected by the operator; \S+ % of .*'),
                                     ('eject s2 for 90s', 'ejected',
                                      r'server s2 is ejected by the operator for 90s; \S+ % of .*'),
                                     ('drain s2', 'drained', r'server s2 is drained by the operator; \S+ % of .*')):
            earlier = len(daemon.admin('events'))
            daemon.admin(command)
            daemon.wait_state('s2', state)
            out_for = daemon.members()['s2'].get('out_for')
            self.assertRegex(str(out_for), r'[5-9]\d\.\ds' if 'for' in command else 'None')
            daemon.admin('restore s2')
            daemon.wait_state('s2', 'live', 20)
            events = [line.split(' ', 1)[1] for line in daemon.admin('events')[earlier:]]
            self.assertEqual(len(events), 4, events)
            for event, wanted in zip(events, (said, 'server s2 is restored by the operator; it is brought up to date',
                                              'server s2 was flushed before its return',
                                              'server s2 is live again after [0-9.]+ s')):
                self.assertRegex(event, '^%s$' % wanted)

    def test_one_key_is_no_keys(self):
        daemon, _ = self.pool_of(3, pool=QUICK)
        daemon.admin('eject s2')
        daemon.wait_state('s2', 'ejected')
        self.assertEqual(daemon.ask(b'set %s 0 0 1\r\nx\r\n' % keys_of('s2')[0]), b'STORED\r\n')
        daemon.admin('restore s2')
        daemon.wait_state('s2', 'live', 20)
        self.assertTrue(self.events(daemon, r'live again after [0-9.]+ s, 1 key deleted from it$'))

    def test_one_that_is_out_already_can_be_held_out(self):
        daemon, servers = self.pool_of(2, pool=QUICK)
        servers[1].kill()
        daemon.wait_state('s2', 'ejected')
        daemon.admin('eject s2 for 90s')
        self.assertEqual(self.events(daemon, 'operator'),
                         ['server s2 was out already; it is ejected by the operator for 90s'])
        self.assertEqual(daemon.members()['s2']['cause'], 'ejected by the operator')

    def test_the_end_of_the_operators_time_is_said(self):
        daemon, _ = self.pool_of(2, pool=QUICK)
        daemon.admin('eject s2 for 300ms')
        wait_until(lambda: self.events(daemon, 'server s2 is live again'), 20, 's2 to return')
        self.assertTrue(self.events(daemon, 'server s2 has been out for the time the operator said; it is brought'))

    def test_restore_of_a_live_one_says_so(self):
        daemon, _ = self.pool_of(2)
        self.assertEqual(daemon.admin('restore s2'), ['server s2 was live already'])
        daemon.admin('eject s2')
        daemon.wait_state('s2', 'ejected')
        self.assertEqual(daemon.admin('restore s2'), [])

    def test_the_last_live_one_is_let_go_with_a_warning(self):
        daemon, _ = self.pool_of(2, pool=dict(QUICK, min_live='100%'))
        daemon.admin('eject s1')
        daemon.wait_state('s1', 'ejected')
        self.assertFalse(daemon.log_has('last live'))
        daemon.admin('eject s2')
        daemon.wait_state('s2', 'down')
        self.assertTrue(daemon.log_has('warn: server s2 was the last live one of pool main'))
        self.assertEqual(self.events(daemon, 's2')[0].split(';')[0], 'server s2 is down, ejected by the operator')

    def test_unknown_names_are_refused_with_a_line(self):
        daemon, _ = self.pool_of(2)
        for command in ('eject', 'eject nobody', 'restore nobody', 'drain', 'eject s1 for ever'):
            self.assertRegex(daemon.admin(command)[-1], r'^\w*ERROR')

    def test_drain_lets_requests_finish(self):
        slow = ScriptedServer(None, 's1')
        self.start(slow)

        def behave(connection):
            for line, block in connection.requests():
                connection.wait(0.4 if line.startswith(b'get') else 0)
                connection.send(answer_like_memcached(connection.server, line, block))
        slow.behaviour = behave
        slow.items.update((key, (b'0', b'kept')) for key in keys_of('s1', ('s1', 's2')))
        daemon = self.ketamad([slow, self.memcached('s2')])
        key = keys_of('s1', ('s1', 's2'))[0]
        with daemon.client() as client:
            client.send(b'get %s\r\n' % key)
            wait_until(lambda: slow.asked(b'get'), None, 'the request to reach it')
            daemon.admin('drain s1')
            self.assertEqual(client.read_reply(), b'VALUE %s 0 4\r\nkept\r\nEND\r\n' % key)
            self.assertEqual(client.ask(b'get %s\r\n' % key), b'END\r\n')


@unittest.skipUnless(has_admin('servers'), 'no health yet')
class Names(ProxyTest):
    """Case 28."""

    def test_a_name_that_does_not_resolve_leaves_the_others_serving(self):
        server = self.memcached('s1')
        daemon = self.ketamad([server, 'no-such-host.invalid:11211 name=lost'], pool=QUICK)
        with daemon.client() as client:
            for i in range(30):
                wait_until(lambda i=i: client.ask(b'set k%d 0 0 1\r\nx\r\n' % i) == b'STORED\r\n', 20,
                           'the living server to take all keys')
        self.assertNotEqual(daemon.state('lost'), 'live')
        shown = {line.split()[1]: line for line in daemon.admin('servers')}
        self.assertRegex(shown['main/lost'], r' name_error="[^"]+"$')
        self.assertNotIn('name_error', shown['main/s1'])

    def test_localhost_resolves(self):
        server = self.memcached('s1')
        daemon = self.ketamad(['localhost:%d name=s1' % server.port], pool=QUICK)
        with daemon.client() as client:
            wait_until(lambda: client.ask(b'set k 0 0 1\r\nx\r\n') == b'STORED\r\n', 20, 'the server by name')

    def test_the_first_addresses_of_a_name_are_no_change(self):
        servers = [self.memcached('s1'), self.memcached('s2')]
        daemon = self.ketamad(servers[:1], pool=QUICK)
        daemon.servers.append('localhost:%d name=s2' % servers[1].port)
        daemon.reload()
        wait_until(lambda: daemon.log_has(r'name localhost: \S*127\.0\.0\.1'), None, 'the name to be looked up')
        self.assertEqual(daemon.state('s1'), 'live')  # what the look-up brings comes in the same turn, or the next
        self.assertEqual(daemon.state('s1'), 'live')
        self.assertFalse(daemon.log_has('addresses .*have changed'))


@unittest.skipUnless(has_admin('servers'), 'no health yet')
class UnderLoad(ProxyTest):
    """Whatever happens to a server under a checking load, nothing wrong is read and nobody hangs."""

    POOL = dict(QUICK, rise=1)

    def begin(self, *options, pool=None, **keywords):
        self.daemon, self.servers = self.pool_of(3, pool=dict(self.POOL, **(pool or {})))
        self.running = self.load(self.daemon, '--rate', 5000, *options, **keywords)
        wait_until(lambda: self.daemon.admin_sum('^cmd_get$') > 1000, None, 'some load')

    def end(self):
        let_pass(0.3)
        counts = self.running.result()
        self.assertEqual(wrongs(counts), {}, counts)
        return counts

    def test_kill_and_restart(self):
        self.begin(pool={'request_timeout': '3s'})  # a busy machine's pauses are none of its failures
        for _ in range(3):
            self.servers[1].kill()
            self.daemon.wait_state('s2', 'ejected')
            let_pass(0.3)
            self.servers[1].start()
            self.daemon.wait_state('s2', 'live', 30)
        counts = self.end()
        self.assertEqual(counts['get']['failed'], 0, counts['errors'])

    def test_stop_and_continue(self):
        self.begin()
        for _ in range(3):
            self.servers[2].pause()
            self.daemon.wait_state('s3', 'ejected')
            let_pass(0.3)
            self.servers[2].resume()
            self.daemon.wait_state('s3', 'live', 30)
        self.end()

    def test_short_stops_that_eject_nobody(self):
        self.begin()
        for _ in range(5):
            self.servers[0].pause()
            let_pass(0.05)
            self.servers[0].resume()
            let_pass(0.2)
        self.end()

    def test_two_at_a_time(self):
        self.begin()
        self.servers[0].pause()
        self.servers[1].kill()
        self.daemon.wait_state('s1', 'ejected')
        self.daemon.wait_state('s2', 'ejected')
        let_pass(0.3)
        self.servers[0].resume()
        self.servers[1].start()
        self.daemon.wait_state('s1', 'live', 30)
        self.daemon.wait_state('s2', 'live', 30)
        self.end()


if __name__ == '__main__':
    main()
