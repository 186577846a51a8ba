"""Real client libraries, unchanged, through the proxy: they must not notice it."""

import functools
import os
import shutil
import subprocess
import textwrap

from harness import ProxyTest, main, run_tool, unittest

try:
    import pymemcache
    import pymemcache.client.base
except ImportError:
    pymemcache = None
try:
    import pylibmc
except ImportError:
    pylibmc = None


@functools.lru_cache(None)
def can_run(*argv):
    try:
        return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


class ClientTest(ProxyTest):
    def setUp(self):
        super().setUp()
        self.daemon, self.servers = self.pool_of(3)
        self.host, port = self.daemon.address.split(':')
        self.port = int(port)

    def run_script(self, argv, script):
        """Runs a script that prints 'ok' last; anything else it prints is a failure."""
        code, out, err = run_tool(argv + [self.host, str(self.port)], textwrap.dedent(script).encode())
        self.assertEqual((code, out.decode(), err.decode()), (0, 'ok\n', ''))


@unittest.skipUnless(pymemcache, 'needs python3-pymemcache')
class Pymemcache(ClientTest):
    def setUp(self):
        super().setUp()
        self.client = pymemcache.client.base.Client((self.host, self.port), timeout=10, connect_timeout=10)
        self.addCleanup(self.client.close)

    def test_single_keys(self):
        client = self.client
        self.assertTrue(client.set('a', b'1', noreply=False))
        self.assertEqual(client.get('a'), b'1')
        self.assertFalse(client.add('a', b'2', noreply=False))
        self.assertTrue(client.replace('a', b'10', noreply=False))
        self.assertEqual(client.incr('a', 5), 15)
        self.assertEqual(client.decr('a', 3), 12)
        self.assertTrue(client.append('a', b'x', noreply=False))
        self.assertTrue(client.prepend('a', b'y', noreply=False))
        self.assertEqual(client.get('a'), b'y12x')
        self.assertTrue(client.touch('a', 100, noreply=False))
        self.assertEqual(client.get('a'), b'y12x')
        self.assertTrue(client.delete('a', noreply=False))
        self.assertFalse(client.delete('a', noreply=False))
        self.assertIsNone(client.get('a'))
        self.assertIsNone(client.incr('a', 1))

    def test_cas(self):
        client = self.client
        client.set('a', b'1', noreply=False)
        value, unique = client.gets('a')
        self.assertEqual(value, b'1')
        self.assertIs(client.cas('a', b'2', unique, noreply=False), True)
        self.assertIs(client.cas('a', b'3', unique, noreply=False), False)
        self.assertIsNone(client.cas('none', b'3', unique, noreply=False))

    def test_many_keys(self):
        client = self.client
        items = {'key-%d' % i: b'%d' % i for i in range(500)}
        self.assertEqual(client.set_many(items, noreply=False), [])
        self.assertEqual(client.get_many(list(items) + ['none-%d' % i for i in range(50)]), items)
        self.assertEqual({k: v[0] for k, v in client.gets_many(list(items)).items()}, items)
        self.assertTrue(client.delete_many(list(items)[:250], noreply=False))
        self.assertEqual(len(client.get_many(list(items))), 250)
        self.assertTrue(client.flush_all(noreply=False))
        self.assertEqual(client.get_many(list(items)), {})

    def test_noreply_is_its_default(self):
        client = self.client
        for i in range(200):
            client.set('k%d' % i, b'v%d' % i)
            client.delete('k%d' % (i // 2))
            client.append('k%d' % i, b'+')
        for i in range(150, 200):
            self.assertEqual(client.get('k%d' % i), b'v%d+' % i)

    def test_version_stats_and_quit(self):
        self.assertRegex(self.client.version(), rb'^[\d.]+$')
        self.assertIn(b'curr_items', self.client.stats())
        self.client.quit()

    def test_errors_become_its_exceptions(self):
        client = self.client
        client.set('text', b'abc', noreply=False)
        with self.assertRaises(pymemcache.exceptions.MemcacheClientError):
            client.incr('text', 1)
        self.assertEqual(client.get('text'), b'abc')
        with self.assertRaises(pymemcache.exceptions.MemcacheServerError):
            client.set('big', b'x' * 2000000, noreply=False)
        self.assertEqual(client.get('text'), b'abc')


@unittest.skipUnless(pylibmc, 'needs python3-pylibmc')
class Pylibmc(ClientTest):
    def setUp(self):
        super().setUp()
        self.client = pylibmc.Client([self.daemon.address], binary=False,
                                     behaviors={'cas': True, 'receive_timeout': 10000000, 'send_timeout': 10000000})

    def test_single_keys(self):
        client = self.client
        self.assertTrue(client.set('a', 'text'))
        self.assertEqual(client.get('a'), 'text')
        self.assertFalse(client.add('a', 'other'))
        self.assertTrue(client.replace('a', 10))
        self.assertEqual(client.incr('a', 5), 15)
        self.assertEqual(client.decr('a'), 14)
        self.assertTrue(client.touch('a', 100))
        self.assertTrue(client.set('b', 'x'))
        self.assertTrue(client.append('b', 'y'))
        self.assertTrue(client.prepend('b', 'w'))
        self.assertEqual(client.get('b'), 'wxy')
        self.assertTrue(client.delete('a'))
        self.assertFalse(client.delete('a'))
        self.assertIsNone(client.get('a'))
        with self.assertRaises(pylibmc.NotFound):
            client.incr('a')

    def test_cas(self):
        client = self.client
        client.set('a', 1)
        value, unique = client.gets('a')
        self.assertEqual(value, 1)
        self.assertTrue(client.cas('a', 2, unique))
        self.assertFalse(client.cas('a', 3, unique))

    def test_many_keys(self):
        client = self.client
        items = {'key-%d' % i: 'value %d' % i for i in range(500)}
        self.assertEqual(client.set_multi(items), [])
        self.assertEqual(client.get_multi(list(items) + ['none%d' % i for i in range(50)]), items)
        self.assertEqual(client.set_multi({'x': 1, 'y': [1, 2]}, key_prefix='p:'), [])
        self.assertEqual(client.get_multi(['x', 'y'], key_prefix='p:'), {'x': 1, 'y': [1, 2]})
        self.assertTrue(client.delete_multi(list(items)))
        self.assertEqual(client.get_multi(list(items)), {})
        self.assertTrue(client.flush_all())

    def test_stats_and_large_values(self):
        stats = self.client.get_stats()
        self.assertEqual(len(stats), 1)
        self.assertTrue(self.client.set('big', b'v' * 900000))
        self.assertEqual(self.client.get('big'), b'v' * 900000)
        with self.assertRaises(pylibmc.Error):
            self.client.set('big', b'v' * 2000000)
        self.assertIsNone(self.client.get('big'))

    def test_noreply_behaviour(self):
        client = pylibmc.Client([self.daemon.address], binary=False, behaviors={'_noreply': True})
        for i in range(100):
            client.set('k%d' % i, 'v%d' % i)
        for i in range(100):
            self.assertEqual(client.get('k%d' % i), 'v%d' % i)


@unittest.skipUnless(can_run('php', '-r', 'exit(class_exists("Memcached") ? 0 : 1);'), 'needs php-memcached')
class PhpMemcached(ClientTest):
    HEAD = '''<?php
        error_reporting(E_ALL);
        function same($got, $want, $what) {
            if ($got !== $want) { echo "$what: ", var_export($got, true), " is not ", var_export($want, true), "\\n"; exit(1); }
        }
        $m = new Memcached();
        $m->setOption(Memcached::OPT_BINARY_PROTOCOL, false);
        $m->setOption(Memcached::OPT_RECV_TIMEOUT, 10000000);
        $m->addServer($argv[1], (int)$argv[2]);
        '''

    def php(self, script):
        self.run_script(['php', '--'], self.HEAD + script)

    def test_single_keys(self):
        self.php('''
        same($m->set("a", "1"), true, "set"); same($m->get("a"), "1", "get");
        same($m->add("a", "2"), false, "add"); same($m->getResultCode(), Memcached::RES_NOTSTORED, "code");
        same($m->replace("a", 10), true, "replace"); same($m->increment("a", 5), 15, "incr"); same($m->decrement("a"), 14, "decr");
        same($m->touch("a", 100), true, "touch"); same($m->get("a"), 14, "get");
        $m->setOption(Memcached::OPT_COMPRESSION, false);
        same($m->set("s", "b"), true, "set"); same($m->append("s", "c"), true, "append"); same($m->prepend("s", "a"), true, "prepend");
        same($m->get("s"), "abc", "get"); same($m->delete("s"), true, "delete"); same($m->delete("s"), false, "delete");
        same($m->getResultCode(), Memcached::RES_NOTFOUND, "code"); same($m->get("s"), false, "get");
        same($m->increment("none"), false, "incr");
        echo "ok\\n";''')

    def test_many_keys(self):
        self.php('''
        $items = []; for ($i = 0; $i < 500; $i++) $items["key-$i"] = "value $i";
        same($m->setMulti($items), true, "setMulti");
        $got = $m->getMulti(array_merge(array_keys($items), ["none-1", "none-2"])); ksort($got); $want = $items; ksort($want);
        same($got, $want, "getMulti");
        same(array_keys($m->getMulti(["key-9", "key-1", "key-5"], Memcached::GET_PRESERVE_ORDER)), ["key-9", "key-1", "key-5"], "order");
        foreach ($m->deleteMulti(array_keys($items)) as $key => $done) same($done, true, "deleteMulti $key");
        same($m->getMulti(array_keys($items)), [], "getMulti");
        same($m->flush(), true, "flush");
        echo "ok\\n";''')

    def test_cas_and_delayed(self):
        self.php('''
        same($m->set("a", "1"), true, "set");
        $got = $m->get("a", null, Memcached::GET_EXTENDED);
        same($m->cas($got["cas"], "a", "2"), true, "cas"); same($m->cas($got["cas"], "a", "3"), false, "cas");
        same($m->getResultCode(), Memcached::RES_DATA_EXISTS, "code"); same($m->get("a"), "2", "get");
        same($m->set("b", "x"), true, "set");
        same($m->getDelayed(["a", "b", "c"]), true, "getDelayed"); same(count($m->fetchAll()), 2, "fetchAll");
        echo "ok\\n";''')

    def test_version_stats_noreply_and_buffers(self):
        self.php('''
        foreach ($m->getVersion() as $version) same(preg_match("/^[0-9.]+$/", $version), 1, "version");
        same(count($m->getStats()), 1, "stats");
        $m->setOption(Memcached::OPT_NOREPLY, true);
        for ($i = 0; $i < 100; $i++) $m->set("k$i", "v$i");
        $m->setOption(Memcached::OPT_NOREPLY, false);
        for ($i = 0; $i < 100; $i++) same($m->get("k$i"), "v$i", "get $i");
        $m->setOption(Memcached::OPT_BUFFER_WRITES, true);
        for ($i = 0; $i < 100; $i++) $m->set("b$i", "v$i");
        same($m->get("b99"), "v99", "get behind them"); // else it leaves without its replies
        $m->setOption(Memcached::OPT_BUFFER_WRITES, false);
        for ($i = 0; $i < 100; $i++) same($m->get("b$i"), "v$i", "get $i");
        $big = str_repeat("x", 900000); $m->setOption(Memcached::OPT_COMPRESSION, false);
        same($m->set("big", $big), true, "big"); same($m->get("big"), $big, "big");
        same($m->set("big", $big . $big), false, "too big"); same($m->get("k1"), "v1", "after it");
        echo "ok\\n";''')


@unittest.skipUnless(shutil.which('memccat'), 'needs libmemcached-tools')
class LibmemcachedTools(ClientTest):
    def tool(self, name, *words, code=0):
        got, out, err = run_tool([name, '--servers=%s' % self.daemon.address] + list(words))
        self.assertEqual(got, code, (name, words, out, err))
        return out

    def test_copy_cat_exist_touch_and_remove(self):
        directory = self.temporary_directory()
        paths = []
        for i in range(20):
            paths.append(os.path.join(directory, 'file-%d' % i))
            with open(paths[-1], 'wb') as out:
                out.write(b'content %d\n' % i)
        self.tool('memccp', *paths)
        for i in range(20):
            self.assertIn(b'content %d' % i, self.tool('memccat', 'file-%d' % i))
            self.tool('memcexist', 'file-%d' % i)
        self.tool('memctouch', '--expire=100', 'file-1')
        self.tool('memcrm', 'file-1')
        self.tool('memcexist', 'file-1', code=1)
        self.tool('memcexist', 'file-2')
        self.tool('memcflush')
        self.tool('memcexist', 'file-2', code=1)

    def test_ping_and_stat(self):
        self.tool('memcping')
        out = self.tool('memcstat')
        self.assertIn(b'curr_items', out)
        self.assertIn(b'version', out)

    @unittest.skipUnless(shutil.which('memccapable'), 'needs memccapable')
    def test_memccapable_finds_the_text_protocol_whole(self):
        code, out, err = run_tool(['memccapable', '-h', self.host, '-p', str(self.port), '-a', '-T', '10'], seconds=120)
        self.assertEqual(code, 0, (out + err).decode())
        self.assertIn(b'All tests passed', out + err)

    @unittest.skipUnless(shutil.which('memcslap'), 'needs memcslap')
    def test_memcslap_runs(self):
        self.tool('memcslap', '--concurrency=5', '--execute-number=200', '--test=set')
        self.tool('memcslap', '--concurrency=5', '--execute-number=200', '--test=get')
        self.tool('memcslap', '--concurrency=2', '--execute-number=200', '--test=mget')


@unittest.skipUnless(can_run('perl', '-MCache::Memcached::Fast', '-e', '1'), 'needs libcache-memcached-fast-perl')
class CacheMemcachedFast(ClientTest):
    def perl(self, script):
        self.run_script(['perl', '-'], '''
        use strict; use warnings; use Cache::Memcached::Fast; $| = 1;
        my $m = Cache::Memcached::Fast->new({ servers => ["$ARGV[0]:$ARGV[1]"], io_timeout => 10, connect_timeout => 10 });
        sub same($$$) { my ($got, $want, $what) = @_; $got = 'undef' unless defined $got;
                   if ($got ne $want) { print "$what: '$got' is not '$want'\\n"; exit 1; } }
        ''' + script + '''
        print "ok\\n";''')

    def test_single_keys(self):
        self.perl('''
        same($m->set('a', 'x'), 1, 'set'); same($m->get('a'), 'x', 'get'); same($m->add('a', 'y'), '', 'add');
        same($m->replace('a', 10), 1, 'replace'); same($m->incr('a', 5), 15, 'incr'); same($m->decr('a', 1), 14, 'decr');
        same($m->set('s', 'b'), 1, 'set'); same($m->append('s', 'c'), 1, 'append'); same($m->prepend('s', 'a'), 1, 'prepend');
        same($m->get('s'), 'abc', 'get'); same($m->touch('s', 100), 1, 'touch'); same($m->delete('s'), 1, 'delete');
        same($m->delete('s'), '', 'delete'); same($m->get('s'), 'undef', 'get'); same($m->incr('none'), '', 'incr');
        my $got = $m->gets('a'); same($m->cas('a', $got->[0], 'new'), 1, 'cas'); same($m->cas('a', $got->[0], 'z'), '', 'cas');
        same($m->get('a'), 'new', 'get');''')

    def test_many_keys(self):
        self.perl('''
        my @stored = $m->set_multi(map { ["key-$_", "value $_"] } 0 .. 499);
        same(scalar(grep { $_ } @stored), 500, 'set_multi');
        my $got = $m->get_multi(map { "key-$_" } 0 .. 549); same(scalar(keys %$got), 500, 'get_multi');
        same($got->{"key-$_"}, "value $_", "key $_") for 0 .. 499;
        my $both = $m->gets_multi('key-1', 'key-2', 'none'); same(scalar(keys %$both), 2, 'gets_multi');
        my @gone = $m->delete_multi(map { "key-$_" } 0 .. 499); same(scalar(grep { $_ } @gone), 500, 'delete_multi');
        same(scalar(keys %{$m->get_multi(map { "key-$_" } 0 .. 499)}), 0, 'get_multi');''')

    def test_version_flush_and_nowait(self):
        self.perl('''
        my $versions = $m->server_versions; for (values %$versions) { die "version $_" unless /^[0-9.]+$/; }
        same(scalar(keys %$versions), 1, 'versions');
        $m->set("n$_", $_) for 0 .. 199; $m->nowait_push; same($m->get("n$_"), $_, "n$_") for 0 .. 199;
        same($m->flush_all ? 1 : 0, 1, 'flush_all'); same($m->get('n1'), 'undef', 'get');''')


if __name__ == '__main__':
    main()
