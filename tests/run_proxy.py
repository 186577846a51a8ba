#!/usr/bin/python3
"""Runs the proxy tests: each test class in a process of its own, some at a time.

  tests/run_proxy.py [-j N] [-k PATTERN] [-l] [--ketamad PATH] [--against memcached] [FILES...]

Failures are printed whole; the last line is "N passed, N failed" and the exit code 1 where any
failed. TEST_TIME_FACTOR multiplies every deadline, for slow builds. --against memcached puts one
memcached in the daemon's place: what must be equal is so checked against the original.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, 'proxy')
CLASS_DEADLINE = 900

sys.dont_write_bytecode = True
sys.path.insert(0, TESTS)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('-j', type=int, default=2, metavar='N', help='classes at a time')
    parser.add_argument('-k', metavar='PATTERN', help='only tests whose name holds PATTERN')
    parser.add_argument('-l', action='store_true', help='list the tests and stop')
    parser.add_argument('-v', action='store_true', help='name each class and its time')
    parser.add_argument('--ketamad', metavar='PATH')
    parser.add_argument('--against', choices=['memcached'])
    parser.add_argument('--class', dest='one_class', metavar='FILE:CLASS', help=argparse.SUPPRESS)
    parser.add_argument('files', nargs='*')
    return parser.parse_args()


def modules_of(files):
    if not files:
        files = sorted(name for name in os.listdir(TESTS)
                       if fnmatch.fnmatch(name, 'test_*.py'))
    return [os.path.splitext(os.path.basename(name))[0] for name in files]


def cases_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases_in(item)
        else:
            yield item


def load(module, pattern):
    """The tests of a module by class, in the order of the file."""
    loader = unittest.TestLoader()
    by_class = {}
    for case in cases_in(loader.loadTestsFromName(module)):
        if isinstance(case, unittest.loader._FailedTest):
            raise SystemExit('%s: %s' % (module, case._exception))
        name = case.id()
        if pattern is None or pattern in name or fnmatch.fnmatch(name, pattern):
            by_class.setdefault(type(case).__name__, []).append(case)
    return by_class


def python_with_clients():
    """An interpreter that has the memcached clients: this one, or the system's own."""
    for path in (sys.executable, '/usr/bin/python3'):
        try:
            done = subprocess.run([path, '-c', 'import pylibmc, pymemcache'], check=False,
                                  stderr=subprocess.DEVNULL)
        except OSError:
            continue
        if done.returncode == 0:
            return path
    return sys.executable


def _interrupt(*_):
    raise KeyboardInterrupt


def test_of(case):
    """The test itself, where only a subtest of it failed."""
    return getattr(case, 'test_case', case)


def run_class(spec, pattern):
    """In the child: runs one class, prints what failed and a count that the parent reads."""
    signal.signal(signal.SIGTERM, _interrupt)
    module, name = spec.split(':')
    suite = unittest.TestSuite(load(module, pattern)[name])
    result = unittest.TestResult()
    suite.run(result)
    for kind, found in (('FAILED', result.failures), ('ERROR', result.errors)):
        for case, text in found:
            print('%s: %s\n%s%s' % (kind, case.id(), text, test_of(case).logs()))
    for case in result.unexpectedSuccesses:
        print('UNEXPECTED SUCCESS: %s' % case.id())
    for case, reason in result.skipped:
        print('skipped: %s: %s' % (case.id(), reason))
    bad = len({test_of(case).id() for case, _ in result.failures + result.errors})
    bad += len(result.unexpectedSuccesses)
    print('COUNT %d %d %d' % (result.testsRun - bad - len(result.skipped), bad,
                              len(result.skipped)))
    sys.stdout.flush()


class Runner:
    def __init__(self, arguments, factor):
        self.arguments = arguments
        self.python = python_with_clients()
        self.factor = factor
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()
        self.children = set()
        self.stopping = False

    def run_one(self, module, name, count):
        if self.stopping:
            return
        argv = [self.python, os.path.abspath(__file__), '--class', '%s:%s' % (module, name)]
        if self.arguments.k:
            argv += ['-k', self.arguments.k]
        began = time.monotonic()
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with self.lock:
            self.children.add(child)
        try:
            text = child.communicate(timeout=CLASS_DEADLINE * self.factor)[0].decode(errors='replace')
        except subprocess.TimeoutExpired:
            child.kill()
            text = child.communicate()[0].decode(errors='replace')
            text += '\nFAILED: %s:%s ran too long\n' % (module, name)
        with self.lock:
            self.children.discard(child)
            self.report(module, name, count, text, time.monotonic() - began)

    def report(self, module, name, count, text, seconds):
        if self.stopping:
            return
        lines = text.splitlines()
        counted = lines[-1].split() if lines and lines[-1].startswith('COUNT ') else None
        if counted:
            passed, failed, skipped = map(int, counted[1:])
            lines = lines[:-1]
        else:
            passed, failed, skipped = 0, count, 0
            lines.append('FAILED: %s:%s did not finish' % (module, name))
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if not self.arguments.v:
            lines = [line for line in lines if not line.startswith('skipped: ')]
        if self.arguments.v or failed:
            print('%s %s: %d passed, %d failed, %d skipped, %.1f s'
                  % (module, name, passed, failed, skipped, seconds))
        if lines:
            print('\n'.join(lines))
        sys.stdout.flush()

    def stop(self):
        self.stopping = True
        with self.lock:
            for child in self.children:
                child.terminate()


def main():
    arguments = parse_arguments()
    if arguments.ketamad:
        os.environ['KETAMAD'] = os.path.abspath(arguments.ketamad)
    if arguments.against:
        os.environ['TEST_AGAINST'] = arguments.against
    import harness  # after the environment: it reads it once
    if arguments.one_class:
        return run_class(arguments.one_class, arguments.k)
    work = []
    for module in modules_of(arguments.files):
        for name, cases in load(module, arguments.k).items():
            if arguments.l:
                print('\n'.join(case.id() for case in cases))
            work.append((module, name, len(cases)))
    if arguments.l:
        return 0
    if not arguments.against and not os.access(harness.KETAMAD, os.X_OK):
        sys.exit('no daemon at %s: build it, or name one with --ketamad' % harness.KETAMAD)
    runner = Runner(arguments, harness.TIME_FACTOR)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.j) as executor:
            pending = [executor.submit(runner.run_one, *item) for item in work]
            try:
                for one in concurrent.futures.as_completed(pending):
                    one.result()
            except KeyboardInterrupt:
                runner.stop()
                raise
    except KeyboardInterrupt:
        print('interrupted')
        return 130
    if runner.skipped:
        print('%d skipped' % runner.skipped)
    print('%d passed, %d failed' % (runner.passed, runner.failed))
    return 1 if runner.failed else 0


if __name__ == '__main__':
    sys.exit(main())
