"""What is counted adds up, and the http port shows it: metrics, JSON, the page."""

import http.client
import json
import os
import re
import select
import shutil
import subprocess
import threading
import time
import unittest

import browser
from harness import Client, ProxyTest, free_port, keys_of, let_pass, main, proxy_only, wait_until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMTOOL = shutil.which('promtool')


def http_get(address, path, method='GET'):
    host, port = address.rsplit(':', 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def numbers(stats, *names):
    return {name: int(stats[name]) for name in names}


class Reader:
    """Reads everything there is, over and over, while something else goes on."""

    def __init__(self, daemon, address=None):
        self.daemon, self.address = daemon, address
        self.stopping = threading.Event()
        self.rounds = 0
        self.failure = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        before = {}
        try:
            while not self.stopping.is_set():
                for group in ('', 'servers', 'pools', 'workers', 'commands', 'latency'):
                    now = self.daemon.admin_stats(group)
                    for name in ('requests', 'cmd_get', 'get_hits', 'main:requests'):
                        if name in now and int(now[name]) < int(before.get(name, 0)):
                            raise AssertionError('%s went from %s to %s'
                                                 % (name, before[name], now[name]))
                    before.update(now)
                if self.address:
                    http_get(self.address, '/metrics')
                    http_get(self.address, '/stats.json')
                self.rounds += 1
        except Exception as failure:  # told by stop()
            self.failure = failure

    def stop(self):
        self.stopping.set()
        self.thread.join()
        if self.failure:
            raise self.failure


class CountersCase(ProxyTest):
    def start_pool(self, workers):
        self.http = '127.0.0.1:%d' % free_port()
        self.daemon, self.servers = self.pool_of(3, proxy={'workers': workers, 'http': self.http})

    def counted(self, requests):
        """Waits until so many requests are counted and over: then nothing changes any more."""
        def is_over():
            stats = self.daemon.admin_stats()
            return int(stats['requests']) >= requests and stats['in_flight'] == '0' and stats
        return wait_until(is_over, None, '%d requests to be counted' % requests)

    def check_adds_up(self, workers):
        self.start_pool(workers)
        rounds = 40
        script = (b'set k%d 0 0 3\r\nabc\r\n' b'get k%d\r\n' b'get nope%d\r\n' b'gets k%d no%d\r\n'
                  b'add k%d 0 0 1\r\nx\r\n' b'delete k%d\r\n' b'delete k%d\r\n'
                  b'set n%d 0 0 1\r\n5\r\n' b'incr n%d 2\r\n' b'decr none%d 1\r\n'
                  b'touch n%d 0\r\n' b'touch none%d 0\r\n' b'gat 0 n%d\r\n'
                  b'mg n%d v\r\n' b'mg none%d v\r\n' b'ms m%d 1\r\nz\r\n' b'md m%d\r\n' b'ma n%d\r\n'
                  b'mn\r\n' b'version\r\n' b'bogus\r\n' b'slabs reassign 1 1\r\n')
        reader = Reader(self.daemon, self.http)
        clients = 4
        try:
            threads = []
            for number in range(clients):
                def run(number=number):
                    with self.daemon.client() as client:
                        for i in range(rounds):
                            n = number * 1000 + i
                            client.send(script % ((n,) * script.count(b'%d')))
                        client.send(b'quit\r\n')
                        client.read_until_closed()
                threads.append(threading.Thread(target=run))
                threads[-1].start()
            for thread in threads:
                thread.join()
        finally:
            reader.stop()
        self.assertGreater(reader.rounds, 0)
        n = clients * rounds
        stats = self.counted(22 * n + clients)
        self.assertEqual(numbers(stats, 'requests', 'keys', 'cmd_get', 'cmd_set', 'cmd_touch', 'cmd_flush',
                                 'cmd_meta', 'get_hits', 'get_misses', 'delete_hits', 'delete_misses',
                                 'incr_hits', 'decr_misses', 'touch_hits', 'touch_misses', 'errors',
                                 'requests_local', 'total_connections', 'timeouts', 'retries'),
                         {'requests': 22 * n + clients, 'keys': 19 * n, 'cmd_get': 7 * n, 'cmd_set': 4 * n,
                          'cmd_touch': 3 * n, 'cmd_flush': 0, 'cmd_meta': 6 * n, 'get_hits': 4 * n,
                          'get_misses': 3 * n, 'delete_hits': 2 * n, 'delete_misses': n, 'incr_hits': 2 * n,
                          'decr_misses': n, 'touch_hits': 2 * n, 'touch_misses': n, 'errors': 0,
                          'requests_local': 4 * n + clients,
                          'total_connections': int(stats['total_connections']), 'timeouts': 0, 'retries': 0})
        commands = self.daemon.admin_stats('commands')
        for command, times in (('get', 2), ('gets', 1), ('set', 2), ('add', 1), ('delete', 2), ('incr', 1),
                               ('decr', 1), ('touch', 2), ('gat', 1), ('mg', 2), ('ms', 1), ('md', 1), ('ma', 1),
                               ('mn', 1), ('version', 1), ('unknown', 1), ('refused', 1), ('cas', 0)):
            self.assertEqual(int(commands[command + ':requests']), times * n, command)
        self.check_servers_and_times(n, stats)

    def check_servers_and_times(self, n, stats):
        servers = self.daemon.admin_stats('servers')
        pools = self.daemon.admin_stats('pools')
        for name in ('requests', 'hits', 'misses', 'bytes_read', 'bytes_written', 'connections', 'in_flight'):
            self.assertEqual(sum(int(servers['main/s%d:%s' % (i, name)]) for i in (1, 2, 3)),
                             int(pools['main:' + name]), name)
        self.assertEqual(pools['main:in_flight'], '0')
        self.assertEqual(pools['main:queued_bytes'], '0')
        self.assertEqual(int(pools['main:hits']), 4 * n + 2 * n + 2 * n + n)  # gat once among the gets
        self.assertEqual(pools['main:bytes_read'], stats['backend_bytes_read'])
        self.assertEqual(pools['main:requests'], stats['backend_requests'])
        latency = self.daemon.admin_stats('latency')
        self.assertEqual(int(latency['get:count']), 2 * n)
        self.assertEqual(int(latency['set:count']), 2 * n)
        workers = self.daemon.admin_stats('workers')
        self.assertEqual(sum(int(value) for name, value in workers.items() if name.endswith(':requests')),
                         int(stats['requests']))


@proxy_only
class CountersAddUp(CountersCase):
    def test_on_one_worker(self):
        self.check_adds_up(1)

    def test_on_four_workers(self):
        self.check_adds_up(4)

    def test_failures_are_counted_by_cause_and_server(self):
        self.start_pool(1)
        key = keys_of('s2')[0]
        self.servers[1].kill()
        self.daemon.ask(b'get %s\r\nget %s\r\n' % (key, key))
        stats = wait_until(lambda: (s := self.daemon.admin_stats('servers')) and
                           int(s['main/s2:connection_failures']) > 0 and s, None, 'the failure')
        self.assertEqual(stats['main/s1:connection_failures'], '0')

    def test_counts_of_a_removed_server_stay_with_its_pool(self):
        self.start_pool(2)
        with self.daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1\r\nx\r\n' % i for i in range(300)))
            client.barrier()
        before = int(self.daemon.admin_stats('pools')['main:requests'])
        self.daemon.servers = self.servers[:2]
        self.daemon.reload()
        wait_until(lambda: self.daemon.admin_stats('pools')['main:servers'] == '2', None, 'the reload')
        self.assertGreaterEqual(int(self.daemon.admin_stats('pools')['main:requests']), before)
        self.assertNotIn('main/s3:requests', self.daemon.admin_stats('servers'))

    def test_times_count_from_arrival_after_a_quiet_moment(self):
        self.start_pool(1)
        longest = 0
        for _ in range(4):
            begin = time.monotonic()
            self.daemon.ask(b'get k\r\n')
            longest = max(longest, time.monotonic() - begin)
            let_pass(0.4)
        # none took longer than its client waited
        self.assertLess(int(self.daemon.admin_stats('latency')['get:max_us']), longest * 1000000 + 100000)


@proxy_only
class StatsOfThePool(CountersCase):
    """stats on the client port: as if the pool were one memcached."""

    def stats(self, group=''):
        with self.daemon.client() as client:
            client.send(('stats ' + group).strip().encode() + b'\r\n')
            lines = []
            while (line := client.read_line()) != b'END\r\n':
                lines.append(line.decode().split())
        return {line[1]: line[2] for line in lines if len(line) > 2}

    def test_what_adds_up_is_summed_and_the_rest_is_not(self):
        self.start_pool(1)
        with self.daemon.client() as client:
            client.send(b''.join(b'set k%d 0 0 1\r\nx\r\n' % i for i in range(200)))
            client.barrier()
        stats = self.stats()
        each = [server.stats() for server in self.servers]
        self.assertEqual(stats['curr_items'], '200')
        self.assertEqual(int(stats['limit_maxbytes']), sum(int(one['limit_maxbytes']) for one in each))
        for name in ('pointer_size', 'accepting_conns', 'hash_power_level', 'hash_is_expanding'):
            self.assertEqual(stats[name], each[0][name], name)
        self.assertLessEqual(int(stats['uptime']), min(int(one['uptime']) for one in each) + 1)
        slabs = self.stats('slabs')
        for name, value in self.servers[0].stats('slabs').items():
            if name.endswith((':chunk_size', ':chunks_per_page')):
                self.assertEqual(slabs[name], value, name)
        self.assertEqual(sum(int(value) for name, value in self.stats('items').items()
                             if name.endswith(':number')), 200)
        self.assertEqual(self.stats('settings')['item_size_max'], '1048576')
        self.stats('sizes')
        self.assertRegex(self.daemon.ask(b'stats conns\r\n'), rb'^CLIENT_ERROR ')


@proxy_only
class HttpPort(CountersCase):
    def setUp(self):
        super().setUp()
        self.start_pool(2)

    def test_health_and_readiness(self):
        self.assertEqual(http_get(self.http, '/healthz')[:2], (200, 'ok\n'))
        self.assertEqual(http_get(self.http, '/readyz')[:2], (200, 'ready\n'))
        self.assertEqual(http_get(self.http, '/nothing')[0], 404)
        self.assertEqual(http_get(self.http, '/', 'HEAD')[:2], (200, ''))

    def test_it_only_reads(self):
        for method in ('POST', 'PUT', 'DELETE'):
            self.assertGreaterEqual(http_get(self.http, '/metrics', method)[0], 400, method)

    def test_many_idle_connections_do_not_shut_it(self):
        idle = [self.client(self.http) for _ in range(100)]
        self.assertEqual(http_get(self.http, '/healthz')[0], 200)
        for client in idle:
            client.close()
        self.assertEqual(http_get(self.http, '/healthz')[0], 200)

    def test_several_requests_on_one_connection(self):
        with Client(self.http) as client:
            for _ in range(3):
                client.send(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
                while client.read_line() != b'\r\n':
                    pass
                self.assertEqual(client.read_exactly(3), b'ok\n')

    def test_one_that_asks_on_and_on_and_never_reads_is_not_read_from(self):
        with Client(self.http) as client:
            client.sock.setblocking(False)
            sent = 0
            while sent < 64 << 20 and select.select([], [client.sock], [], 2)[1]:
                sent += client.sock.send(b'GET / HTTP/1.1\r\n\r\n' * 3000)
            self.assertLess(sent, 32 << 20)  # some MiB lie in the buffers of the two sockets
            self.assertEqual(http_get(self.http, '/healthz')[0], 200)

    @unittest.skipUnless(PROMTOOL, 'promtool is not installed')
    def test_promtool_accepts_the_metrics(self):
        self.daemon.ask(b'set k 0 0 1\r\nx\r\nget k\r\n')
        _, text, headers = http_get(self.http, '/metrics')
        self.assertTrue(headers['Content-Type'].startswith('text/plain; version=0.0.4'))
        done = subprocess.run([PROMTOOL, 'check', 'metrics'], input=text, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))

    @unittest.skipUnless(PROMTOOL, 'promtool is not installed')
    def test_promtool_accepts_the_rules(self):
        conf = os.path.join(TOP, 'conf', 'prometheus')
        for arguments in (['rules', 'ketamad.rules.yml'], ['config', 'prometheus.yml']):
            done = subprocess.run([PROMTOOL, 'check'] + arguments, cwd=conf, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules_and_dashboard_name_metrics_that_there_are(self):
        there = set(re.findall(r'^ketamad_\w+', http_get(self.http, '/metrics')[1], re.M))
        for path in ('conf/prometheus/ketamad.rules.yml', 'conf/grafana/ketamad.json'):
            with open(os.path.join(TOP, path), encoding='utf-8') as file:
                text = file.read()
            for name in re.findall(r'(?<!:)\bketamad_\w+(?=[{\[ )])', text):
                self.assertIn(name, there, path)

    def test_metrics_and_json_say_what_the_admin_port_says(self):
        self.daemon.ask(b'set k 0 0 1\r\nx\r\nget k\r\nget no\r\n')
        self.counted(3)
        text = http_get(self.http, '/metrics')[1]
        self.assertIn('ketamad_command_requests_total{command="get"} 2\n', text)
        self.assertEqual(text.count('ketamad_server_up{pool="main",server='), 3)
        data = json.loads(http_get(self.http, '/stats.json')[1])
        self.assertEqual(data['totals']['cmd_get'], 2)
        pool = data['pools'][0]
        self.assertEqual([server['name'] for server in pool['servers']], ['s1', 's2', 's3'])
        self.assertAlmostEqual(sum(server['share'] for server in pool['servers']), 1, 6)
        self.assertEqual(sum(pool['ring'][1::2]), 1440)


@proxy_only
@unittest.skipUnless(browser.CHROMIUM, 'chromium is not installed')
class Page(CountersCase):
    def test_it_shows_a_server_leave_and_return(self):
        self.http = '127.0.0.1:%d' % free_port()
        self.daemon, self.servers = self.pool_of(
            3, proxy={'workers': 1, 'http': self.http},
            pool={'probe_interval': '100ms', 'fall': 2, 'rise': 1})
        page = self.start(browser.Browser())
        self.daemon.ask(b'set <b>k 0 0 1\r\nx\r\n' + b'get <b>k\r\n' * 20)
        page.open('http://%s/' % self.http)
        states = "[...document.querySelectorAll('.badge')].map(b => b.textContent).join()"
        page.wait("document.body && document.body.dataset.ready")
        page.wait(states + " === 'live,live,live'")
        page.wait("document.getElementById('hot').textContent.includes('<b>k')")
        self.servers[1].kill()
        page.wait(states + " === 'live,ejected,live'")
        page.wait("document.getElementById('events').textContent.includes('s2 is ejected')")
        self.servers[1].restart()
        page.wait(states + " === 'live,live,live'")
        page.wait("document.getElementById('events').textContent.includes('s2 is live again')")
        self.assertEqual(page.errors, [])

    def test_it_fits_a_phone(self):
        self.start_pool(1)
        page = self.start(browser.Browser())
        page.open('http://%s/' % self.http, 360, 740, dark=True)
        page.wait("document.body && document.body.dataset.ready")
        self.assertLessEqual(page.evaluate('document.documentElement.scrollWidth'), 360)
        self.assertEqual(page.errors, [])


if __name__ == '__main__':
    main()
