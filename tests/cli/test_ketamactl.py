#!/usr/bin/python3
"""ketamactl as its users call it: what it prints, and what it exits with."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KETAMACTL = os.environ.get("KETAMACTL", os.path.join(TOP, "build/release/ketamactl"))
VECTORS = os.path.join(TOP, "tests/vectors")


def run(*words, stdin=""):
    done = subprocess.run([KETAMACTL, *words], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)
    return done.returncode, done.stdout, done.stderr


def servers(count, first=1):
    return ["server = 10.0.0.%d:11211 name=mc%d" % (i, i) for i in range(first, first + count)]


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def file(self, name, lines, pool="main"):
        path = os.path.join(self.dir.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write("[pool %s]\nlisten = 127.0.0.1:11211\n%s\n" % (pool, "\n".join(lines)))
        return path

    def answer(self, *words, stdin=""):
        status, out, err = run(*words, stdin=stdin)
        self.assertEqual((status, err), (0, ""), words)
        return out

    def json(self, *words, stdin=""):
        return json.loads(self.answer(*words, "--json", stdin=stdin))


class Check(Case):
    def test_a_good_file_is_summed_up(self):
        out = self.answer("check", self.file("a", servers(3)))
        self.assertIn("pool main: 3 servers, ketama, keys by xxh3, 480 points\n", out)

    def test_mistakes_have_their_line_and_exit_1(self):
        path = self.file("a", ["placement = foo"] + servers(2))
        status, out, err = run("check", path)
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r":3: placement: .*foo.*ketama")
        status, out, err = run("check", path, "--json")
        self.assertEqual((status, err), (1, ""))
        told = json.loads(out)
        self.assertFalse(told["good"])
        self.assertEqual(len(told["errors"]), 1)

    def test_weights_that_do_not_count_are_noted(self):
        path = self.file("a", ["placement = ketama:mcproxy", "server = 10.0.0.1:11211 weight=3",
                               "server = 10.0.0.2:11211"])
        self.assertIn("note: placement ketama:mcproxy has no weights", self.answer("check", path))
        self.assertEqual(len(self.json("check", path)["pools"][0]["notes"]), 1)


class Locate(Case):
    def test_a_line_a_key(self):
        path = self.file("a", servers(3))
        for line in self.answer("locate", path, "a", "b").splitlines():
            self.assertRegex(line, r"^[ab]\tmc(\d)\t10\.0\.0\.\1:11211$")

    def test_keys_on_standard_input_are_decoded_and_written_encoded(self):
        path = self.file("a", servers(3))
        out = self.answer("locate", path, "-", stdin="a%20b\n%ff%25\nplain-~\n%0a\n")
        self.assertEqual([line.split("\t")[0] for line in out.splitlines()],
                         ["a%20b", "%FF%25", "plain-~", "%0A"])
        self.assertEqual(self.answer("locate", path, "a b"), out.splitlines(True)[0])

    def test_a_word_on_the_command_line_is_the_key_itself(self):
        path = self.file("a", servers(3))
        out = self.answer("locate", path, "50%25", "--", "-1", "--json")
        self.assertEqual([line.split("\t")[0] for line in out.splitlines()],
                         ["50%2525", "-1", "--json"])

    def test_a_broken_escape_is_told_with_its_line(self):
        status, out, err = run("locate", self.file("a", servers(3)), "-", stdin="ok\n%g1\n%2\n")
        self.assertEqual(status, 1)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertEqual([line.split(":")[1] for line in err.splitlines()], ["2", "3"])

    def test_of_several_pools_the_longest_prefix_has_the_key(self):
        path = self.file("a", servers(1) + ["[pool app]", "listen = 127.0.0.1:11211",
                                            "prefix = app:"] + servers(1, 7))
        out = self.answer("locate", path, "x", "app:x")
        self.assertEqual([line.split("\t")[1] for line in out.splitlines()], ["mc1", "mc7"])
        self.assertIn("\tmc1\t", self.answer("locate", path, "--pool", "main", "app:x"))

    def test_json(self):
        told = self.json("locate", self.file("a", servers(1)), "k")
        self.assertEqual(told, [{"key": "k", "pool": "main", "server": "mc1",
                                 "address": "10.0.0.1:11211"}])


class Share(Case):
    def test_shares_add_up_and_ideals_follow_weights(self):
        path = self.file("a", ["server = h1:1 weight=1", "server = h2:1 weight=3"])
        pool = self.json("share", path)["pools"][0]
        self.assertTrue(pool["exact"])
        self.assertAlmostEqual(sum(s["share"] for s in pool["servers"]), 1)
        self.assertEqual([s["ideal"] for s in pool["servers"]], [0.25, 0.75])

    def test_text_has_a_line_a_server(self):
        out = self.answer("share", self.file("a", servers(3)))
        self.assertEqual(len(re.findall(r"^mc\d .* %", out, re.M)), 3)
        self.assertRegex(out, r"busiest: mc\d with 1\.\d+ times its ideal")


class Plan(Case):
    def moved(self, placement, before, after):
        old = self.file("old", ["placement = " + placement] + before)
        new = self.file("new", ["placement = " + placement] + after)
        return self.json("plan", old, new)["pools"][0], old, new

    def test_nine_to_ten_moves_a_tenth_and_modulo_nine(self):
        for placement, low, high in (("ketama", 0.08, 0.12), ("modulo", 0.899, 0.901),
                                     ("jump", 0.0999, 0.1001), ("rendezvous", 0.097, 0.103),
                                     ("ketama:libketama", 0.07, 0.13)):
            pool, old, new = self.moved(placement, servers(9), servers(10))
            self.assertAlmostEqual(pool["least"], 0.1)
            self.assertTrue(low < pool["moved"] < high, (placement, pool["moved"]))
            counted = self.json("simulate", old, new, "--keys", "200k")["pools"][0]["moved"]
            self.assertAlmostEqual(counted, pool["moved"], delta=0.004)

    def test_flows_and_sums_agree(self):
        pool, _, _ = self.moved("ketama", servers(9), servers(10))
        self.assertTrue(pool["exact"])
        self.assertAlmostEqual(sum(f["part"] for f in pool["flows"]), pool["moved"])
        self.assertEqual({f["to"] for f in pool["flows"]}, {"mc10"})
        gets = {s["name"]: s["gets"] for s in pool["servers"]}
        self.assertAlmostEqual(gets["mc10"], pool["moved"])

    def test_the_first_line_says_what_matters(self):
        old, new = self.file("old", servers(9)), self.file("new", servers(10))
        line = self.answer("plan", old, new).splitlines()[0]
        self.assertRegex(line, r"^pool main: moves \d+\.\d % of keys; the least possible is 10\.0 %$")

    def test_the_same_file_moves_nothing(self):
        path = self.file("a", servers(5))
        pool = self.json("plan", path, path)["pools"][0]
        self.assertEqual((pool["moved"], pool["least"], pool["warnings"], pool["flows"]),
                         (0, 0, [], []))

    def test_costly_edits_are_warned_of(self):
        plain = ["server = 10.0.0.%d:11211" % i for i in range(1, 6)]
        edits = [
            (servers(5), servers(4) + ["server = 10.0.0.5:11211 name=new"], "is now called new"),
            (plain, plain[:4] + ["server = 10.0.0.9:11211"], "name=10.0.0.5:11211 on its line"),
            (servers(5), ["placement = maglev"] + servers(5), "placement changes from ketama"),
            (servers(5), ["points = 80"] + servers(5), "points changes from 0 to 80"),
            (servers(5), servers(4) + ["server = 10.9.9.9:11211 name=mc5"],
             "mc5 is at 10.9.9.9:11211 instead of 10.0.0.5:11211"),
            (["placement = modulo"] + servers(5), ["placement = modulo"] + servers(6),
             "far more than the least"),
        ]
        for before, after, says in edits:
            old, new = self.file("old", before), self.file("new", after)
            warnings = self.json("plan", old, new)["pools"][0]["warnings"]
            self.assertTrue(any(says in warning for warning in warnings), (says, warnings))
            self.assertIn(says, self.answer("plan", old, new))

    def test_the_name_that_is_advised_keeps_every_key(self):
        plain = ["server = 10.0.0.%d:11211" % i for i in range(1, 6)]
        old = self.file("old", plain)
        new = self.file("new", plain[:4] + ["server = 10.0.0.9:11211 name=10.0.0.5:11211"])
        self.assertEqual(self.json("plan", old, new)["pools"][0]["moved"], 0)

    def test_pools_in_one_file_only_are_named(self):
        old = self.file("old", servers(2) + ["[pool b]", "listen = 127.0.0.1:2"] + servers(2))
        new = self.file("new", servers(2) + ["[pool c]", "listen = 127.0.0.1:2"] + servers(2))
        told = self.json("plan", old, new)
        self.assertEqual((told["added"], told["removed"]), (["c"], ["b"]))
        self.assertEqual(len(told["pools"]), 1)


class Simulate(Case):
    def test_counts_add_up_and_follow_shares(self):
        path = self.file("a", servers(4))
        counted = self.json("simulate", path, "--keys=100000")["pools"][0]
        shares = self.json("share", path)["pools"][0]
        self.assertEqual(sum(s["keys"] for s in counted["servers"]), 100000)
        for one, other in zip(counted["servers"], shares["servers"]):
            self.assertAlmostEqual(one["keys"] / 100000, other["share"], delta=0.008)
        self.assertRegex(self.answer("simulate", path, "--keys", "1k"),
                         r"busiest over the mean: 1\.\d+ ")


class Admin(Case):
    def serve(self, answer):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        heard = []

        def talk():
            client, _ = listener.accept()
            with client:
                said = b""
                while not said.endswith(b"quit\r\n"):
                    said += client.recv(4096)
                heard.append(said)
                client.sendall(answer)
            listener.close()

        thread = threading.Thread(target=talk)
        thread.start()
        self.addCleanup(thread.join)
        return "127.0.0.1:%d" % listener.getsockname()[1], heard

    def test_the_command_is_sent_and_the_answer_printed(self):
        address, heard = self.serve(b"STAT a 1\r\nEND\r\n")
        self.assertEqual(run("-a", address, "stats", "--all", "x")[:2], (0, "STAT a 1\nEND\n"))
        self.assertEqual(heard, [b"stats --all x\r\nquit\r\n"])

    def test_a_refusal_exits_1(self):
        address, _ = self.serve(b"ERROR unknown command\r\n")
        self.assertEqual(run("-a", address, "foo")[0], 1)

    def test_a_refusal_behind_its_reasons_exits_1(self):
        answer = b"a.conf:3: fall: \"x\" is no number\r\nfailed: nothing has changed\r\nERROR nothing has changed\r\n"
        for flags in ((), ("--json",)):
            address, _ = self.serve(answer)
            status, out, _ = run(*flags, "-a", address, "reload")
            self.assertEqual(status, 1, flags)
            self.assertIn("ERROR nothing has changed", out)

    def test_an_answer_that_only_speaks_of_errors_exits_0(self):
        address, _ = self.serve(b"# an\r\nERROR in a line\r\nEND\r\n")
        self.assertEqual(run("-a", address, "events")[0], 0)

    def test_stats_as_json(self):
        address, _ = self.serve(b"STAT a 1\r\nSTAT v 1.2.3\r\nEND\r\n")
        self.assertEqual(json.loads(run("--json", "-a", address, "stats")[1]),
                         {"a": 1, "v": "1.2.3"})

    def test_a_close_without_an_answer_exits_1(self):
        address, _ = self.serve(b"")
        self.assertEqual(run("-a", address, "reload"), (1, "", "ketamactl: no answer: the proxy closed the connection\n"))

    def test_quit_needs_no_answer(self):
        address, _ = self.serve(b"")
        self.assertEqual(run("-a", address, "quit"), (0, "", ""))

    def test_nobody_there_exits_1(self):
        self.assertEqual(run("-a", "unix:" + os.path.join(self.dir.name, "none"), "stats")[0], 1)


class Usage(Case):
    def test_exits_2(self):
        path = self.file("a", servers(1))
        for words in ((), ("foo",), ("check",), ("plan", path), ("locate", path), ("share",),
                      ("simulate", path), ("simulate", path, "--keys", "x"), ("share", "--what"),
                      ("share", path, "--pool", "none"), ("share", path, "--pool")):
            self.assertEqual(run(*words)[0], 2, words)

    def test_help_and_version(self):
        self.assertIn("ketamactl plan OLD NEW", self.answer("-h"))
        self.assertRegex(self.answer("-V"), r"^ketamactl \d")


def read_vector(path):
    listed, addresses, keys = [], {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == "# server:":
                listed.append(fields[1:])
            elif fields[0] == "# resolves:":
                addresses[fields[1]] = fields[2]
            elif not line.startswith("# "):
                keys.append(fields)
    return listed, addresses, keys


def server_line(server, row, addresses):
    label, host, port, weight = server[:4]
    name = {"named": server[4] if len(server) > 4 else "", "path": host,
            "resolved": "%s/%s:%s" % (host, addresses.get(host), port), "-": ""}[row["names"]]
    address = "unix:" + host if host.startswith("/") else label
    return "server = %s weight=%s%s" % (address, weight, " name=" + name if name else "")


class Vectors(Case):
    """Recorded placements, through a configuration file and the command line."""

    def rows(self):
        with open(os.path.join(VECTORS, "MANIFEST.tsv"), encoding="utf-8") as lines:
            names = None
            for line in lines:
                fields = line.rstrip("\n").split("\t")
                if fields[0] == "# file":
                    names = ["file"] + fields[1:]
                elif not line.startswith("#"):
                    yield dict(zip(names, fields))

    def test_every_recorded_key_is_located(self):
        count = 0
        for row in self.rows():
            # what the file format has no key for is tested below it
            if row["kind"] != "keys" or row["hash_stop"] != "-":
                continue
            listed, addresses, keys = read_vector(os.path.join(VECTORS, row["file"]))
            lines = ["%s = %s" % (key, row[key])
                     for key in ("placement", "key_hash", "hash_tag", "hash_skip", "points")
                     if row[key] != "-"]
            path = self.file("v", lines + [server_line(s, row, addresses) for s in listed])
            out = self.answer("locate", path, "-", stdin="".join(k + "\n" for k, _ in keys))
            got = [line.split("\t")[2] for line in out.splitlines()]
            want = [("unix:" if label.startswith("/") else "") + label for _, label in keys]
            self.assertEqual(got, want, row["file"])
            count += 1
        self.assertGreater(count, 190)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    bad = len(program.result.failures) + len(program.result.errors)
    print("%d passed, %d failed" % (program.result.testsRun - bad, bad))
    sys.exit(1 if bad else 0)
