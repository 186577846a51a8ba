"""`hot` under a real load: the most frequent keys in their right order."""

import collections
import random
import threading
import unittest

from harness import TIME_FACTOR, ProxyTest, main, proxy_only, wait_until

KEYS = 1000000
ASKED = 400000 if TIME_FACTOR == 1 else 300000
CLIENTS = 8
A_GET = 25   # keys in every second request; the others are of one key
AT_ONCE = 4000


def zipf_keys(seed, count):
    """So many keys of a Zipf(0.99) load over a million, as the random choice had it."""
    names = [b'user:%07d:profile' % (number * 7919 % KEYS) for number in range(KEYS)]
    weights = [(rank + 1) ** -0.99 for rank in range(KEYS)]
    return random.Random(seed).choices(names, weights, k=count)


def batches_of(keys):
    """The keys as gets, some of one key and some of many: (bytes, number of requests)."""
    for start in range(0, len(keys), AT_ONCE):
        part = keys[start:start + AT_ONCE]
        singles = [b'get %s\r\n' % key for key in part[:AT_ONCE // 2]]
        many = [b'get %s\r\n' % b' '.join(part[at:at + A_GET])
                for at in range(AT_ONCE // 2, len(part), A_GET)]
        yield b''.join(singles + many), len(singles) + len(many)


@proxy_only
class HotKeysTest(ProxyTest):
    def ask_for(self, keys):
        """Asks for all keys, none of which is there."""
        with self.daemon.client() as client:
            for request, count in batches_of(keys):
                client.send(request)
                self.assertEqual(client.read_exactly(count * 5), b'END\r\n' * count)

    def hot(self):
        """(total, [(key, count, error)]) as the admin port has them."""
        lines = self.daemon.admin('hot')
        total = int(lines[0].split(' keys,')[0].split()[-1])
        return total, [(line.split()[3], int(line.split()[0]), int(line.split()[1]))
                       for line in lines[1:]]

    def finds_the_hottest(self, workers):
        self.daemon, _ = self.pool_of(3, proxy={'workers': workers})
        keys = zipf_keys(workers, ASKED)
        times = {key.decode(): count for key, count in collections.Counter(keys).items()}
        right = sorted(times.values(), reverse=True)[:10]
        failures = []

        def run(part):
            try:
                self.ask_for(part)
            except Exception as failure:  # told below
                failures.append(failure)
        threads = [threading.Thread(target=run, args=(keys[at::CLIENTS],)) for at in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

        # every worker publishes once a second; the uptime counts whole ones
        over = int(self.daemon.admin_stats()['uptime'])
        wait_until(lambda: int(self.daemon.admin_stats()['uptime']) >= over + 4, 20,
                   'every worker to publish')
        total, found = self.hot()
        self.assertLess(abs(total - ASKED), ASKED * 0.02)
        self.assertGreaterEqual(len(found), 10)
        for (key, _, _), due in zip(found, right):  # their order, but for those that differ by little
            self.assertGreater(times[key], due * 0.9, found[:10])
        for key, count, error in found[:10]:
            self.assertLess(abs(count - times[key]), times[key] * 0.02 * TIME_FACTOR + error, (key, count, error))

    def test_one_worker_finds_the_ten_hottest_of_a_million_keys_in_order(self):
        self.finds_the_hottest(1)

    def test_four_workers_find_them_too(self):
        self.finds_the_hottest(4)


if __name__ == '__main__':
    main()
