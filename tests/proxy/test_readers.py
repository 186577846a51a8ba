"""Programs that read memcached's statistics read ketamad's, on the client port and the admin port."""

import glob
import shutil
import subprocess
import unittest

from harness import ProxyTest, main, proxy_only, wait_until

COLLECTD = shutil.which('collectd') or shutil.which('collectd', path='/usr/sbin')
MEMCSTAT = shutil.which('memcstat')
ASKED = 30

CONFIG = """
BaseDir "{folder}"
PIDFile "{folder}/pid"
PluginDir "/usr/lib/collectd"
TypesDB "/usr/share/collectd/types.db"
Hostname "here"
Interval 1
LoadPlugin logfile
<Plugin logfile>
  LogLevel info
  File "{folder}/log"
</Plugin>
LoadPlugin csv
<Plugin csv>
  DataDir "{folder}/csv"
</Plugin>
LoadPlugin memcached
<Plugin memcached>
  <Instance "client">
    Address "127.0.0.1"
    Port "{client}"
  </Instance>
  <Instance "admin">
    Address "127.0.0.1"
    Port "{admin}"
  </Instance>
</Plugin>
"""
# beside what has its figure compared, of both ports
NAMES = ('memcached_command-get', 'memcached_command-set', 'memcached_octets', 'uptime')


def port_of(address):
    return address.rsplit(':', 1)[1]


@proxy_only
class ReadersTest(ProxyTest):
    def setUp(self):
        super().setUp()
        self.daemon, _ = self.pool_of(3)
        with self.daemon.client() as client:
            for number in range(ASKED):
                self.assertEqual(client.ask(b'set k%d 0 0 1\r\nx\r\n' % number), b'STORED\r\n')
                client.ask(b'get k%d\r\n' % number)

    @unittest.skipUnless(COLLECTD, 'no collectd: apt-get install collectd-core')
    def test_collectd_reads_both_ports(self):
        folder = self.temporary_directory()
        with open(folder + '/conf', 'w', encoding='ascii') as file:
            file.write(CONFIG.format(folder=folder, client=port_of(self.daemon.address),
                                     admin=port_of(self.daemon.admin_address)))
        collectd = subprocess.Popen([COLLECTD, '-f', '-C', folder + '/conf'],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            collectd.kill()
            collectd.wait()
        self.addCleanup(end)

        def last(port, name):
            for path in glob.glob('%s/csv/here/memcached-%s/%s-*' % (folder, port, name)):
                with open(path, encoding='ascii') as file:
                    lines = file.read().splitlines()
                return lines[-1].split(',')[1:] if len(lines) > 1 else None
            return None

        def written(port, name):
            return glob.glob('%s/csv/here/memcached-%s/%s*' % (folder, port, name))

        def is_read(port):  # rates are written with the second reading
            return (last(port, 'memcached_connections-current') and last(port, 'memcached_ops-hits')
                    and all(written(port, name) for name in NAMES))
        for port in ('client', 'admin'):
            wait_until(lambda port=port: is_read(port), None, 'collectd to write what it read of the %s port' % port)
        with open(folder + '/log', encoding='utf-8', errors='replace') as file:
            self.assertNotRegex(file.read().lower(), 'error|fail')
        for port in ('client', 'admin'):
            self.assertEqual(float(last(port, 'memcached_ops-hits')[0]), ASKED, port)
            for name in NAMES:
                self.assertTrue(written(port, name), (port, name))

    @unittest.skipUnless(MEMCSTAT, 'no memcstat: apt-get install libmemcached-tools')
    def test_memcstat_reads_the_client_port(self):
        done = subprocess.run([MEMCSTAT, '--servers=' + self.daemon.address], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('get_hits: %d\n' % ASKED, done.stdout)

    def test_pymemcache_reads_both_ports(self):
        try:
            import pymemcache
        except ImportError:
            self.skipTest('no pymemcache: apt-get install python3-pymemcache')
        for address in (self.daemon.address, self.daemon.admin_address):
            host, port = address.rsplit(':', 1)
            client = pymemcache.Client((host, int(port)))
            self.addCleanup(client.close)
            stats = client.stats()
            self.assertEqual(int(stats[b'get_hits']), ASKED)
            self.assertEqual(int(stats[b'cmd_set']), ASKED)
            self.assertGreater(len(stats[b'version']), 4)


if __name__ == '__main__':
    main()
