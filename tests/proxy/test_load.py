"""checkload is believed by other tests, so it must find what is wrong."""

import signal

from harness import TIME_FACTOR, ProxyTest, answer_like_memcached, failures, let_pass, main, wait_until, wrongs


class CheckloadFindsFaults(ProxyTest):
    def counts_against(self, spoil, seconds=1, **options):
        """Against a server whose replies pass through spoil(number, line, reply)."""
        def behave(connection):
            for number, (line, block) in enumerate(connection.requests()):
                reply = answer_like_memcached(connection.server, line, block)
                if not line.startswith(b'flush_all'):
                    reply = spoil(number, line, reply)
                if reply is None:
                    connection.wait_closed()
                    return
                connection.send(reply)
        server = self.scripted(behave)
        load = self.load(server, '--keys', 100, '--rate', 4000, clients=4, seconds=seconds, **options)
        load.process.wait(60 * TIME_FACTOR)
        return load.result()

    def test_nothing_is_wrong_with_an_honest_server(self):
        counts = self.counts_against(lambda number, line, reply: reply)
        self.assertEqual(wrongs(counts), {})
        self.assertEqual(failures(counts), 0)
        self.assertGreater(counts['hits'], 100)

    def test_anothers_value_is_found(self):
        def spoil(number, line, reply):
            return reply.replace(b':', b'7:', 1) if b'VALUE' in reply and number % 50 == 0 else reply
        self.assertGreater(self.counts_against(spoil)['wrong_key'], 0)

    def test_a_changed_byte_is_found(self):
        def spoil(number, line, reply):
            if line.startswith(b'get') and b'VALUE' in reply and number % 50 == 0:
                at = reply.index(b'\r\n', reply.index(b'\r\n') + 2) - 1
                return reply[:at] + b'#' + reply[at + 1:]
            return reply
        self.assertGreater(self.counts_against(spoil)['corrupt'], 0)

    def test_an_old_value_is_found_when_strict(self):
        remembered = {}

        def spoil(number, line, reply):
            key = line.split()[1]
            if line.startswith(b'get') and line.count(b' ') == 1 and b'VALUE' in reply:
                return remembered.setdefault(key, reply)
            return reply
        self.assertGreater(self.counts_against(spoil)['stale'], 0)
        remembered.clear()
        self.assertEqual(self.counts_against(spoil, strict=False)['stale'], 0)

    def test_a_deleted_value_is_found_when_strict(self):
        def spoil(number, line, reply):
            return reply
        counts = self.counts_against(spoil)
        self.assertEqual(counts['stale'], 0)
        graves = {}

        def undead(connection):
            server = connection.server
            for line, block in connection.requests():
                words = line.split()
                if words[0] == b'delete' and words[1] in server.items:
                    graves[words[1]] = server.items[words[1]]
                reply = answer_like_memcached(server, line, block)
                if words[0] == b'get' and reply == b'END\r\n' and words[1] in graves:
                    server.items[words[1]] = graves[words[1]]
                    reply = answer_like_memcached(server, line, block)
                connection.send(reply)
        server = self.scripted(undead)
        load = self.load(server, '--keys', 40, '--rate', 4000, '--deletes', 20, clients=4, seconds=1)
        load.process.wait(60 * TIME_FACTOR)
        self.assertGreater(load.result()['stale'], 0)

    def test_a_shifted_reply_is_found(self):
        held = []

        def spoil(number, line, reply):
            if number == 300:
                held.append(reply)
                return b''
            return reply
        counts = self.counts_against(spoil, seconds=2)
        self.assertTrue(wrongs(counts), counts)

    def test_errors_are_counted_by_their_text(self):
        def spoil(number, line, reply):
            return b'SERVER_ERROR s1: no\r\n' if number % 20 == 7 else reply
        counts = self.counts_against(spoil)
        self.assertEqual(wrongs(counts), {})
        self.assertEqual(counts['errors'], {'SERVER_ERROR s1: no': failures(counts)})

    def test_a_stop_of_checkload_itself_is_no_hang(self):
        server = self.memcached('s1')
        load = self.load(server, clients=20)
        wait_until(lambda: int(server.stats()['cmd_get']) > 100, None, 'some load')
        load.process.send_signal(signal.SIGSTOP)
        let_pass(5.5 * TIME_FACTOR)
        load.process.send_signal(signal.SIGCONT)
        counts = load.result()
        self.assertEqual(wrongs(counts), {})
        self.assertGreater(counts['stopped_ms'], 5000)

    def test_a_server_that_hangs_is_found(self):
        server = self.scripted()
        load = self.load(server, '--keys', 100, '--timeout-ms', 300, clients=4, seconds=60)
        wait_until(lambda: len(server.lines()) > 100, None, 'some load')
        server.mode = 'hang'
        wait_until(lambda: server.accepted > 8, 20, 'clients to give up')
        counts = load.result()
        self.assertGreaterEqual(counts['hung'], 4)


if __name__ == '__main__':
    main()
