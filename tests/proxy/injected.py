"""Faults on demand in a daemon under test: tests/faults/inject.c, preloaded, and its control file."""

import contextlib
import mmap
import os
import struct

from harness import KETAMAD, ROOT, TIME_FACTOR, make_directory, unittest

CALLS = ('allocate', 'read', 'write', 'accept', 'connect', 'socket', 'bind', 'epoll_wait', 'epoll_add', 'open', 'log',
         'thread', 'pipe', 'splice')
FIELDS = ('calls', 'at', 'from', 'share', 'error', 'failed')
GLOBALS = ('seed', 'most_bytes', 'wall_offset_s', 'wall_reads')
SHARE_ALL = 65536
SIZE = 8 * (len(CALLS) * len(FIELDS) + len(GLOBALS))

LIBRARY = next((path for path in (os.path.join(os.path.dirname(os.path.abspath(KETAMAD)), 'tests/faults/inject.so'),
                                  os.path.join(ROOT, 'build/release/tests/faults/inject.so'))
                if os.access(path, os.R_OK)), '')

# The other checkers put themselves in malloc's place and do not bear a second one.
usable = unittest.skipUnless(LIBRARY and os.environ.get('VARIANT', 'release') in ('release', 'asan', 'coverage'),
                             'faults cannot be injected into this build')


class Faults:
    """The control file of one daemon; environment() is for its start."""

    def __init__(self):
        self.path = os.path.join(make_directory(), 'faults')
        with open(self.path, 'w+b') as control:
            control.truncate(SIZE)
            self.map = mmap.mmap(control.fileno(), SIZE)

    def environment(self):
        options = os.environ.get('ASAN_OPTIONS', '')
        return {'LD_PRELOAD': LIBRARY, 'FAULTS_CONTROL': self.path,
                'ASAN_OPTIONS': (options + ':' if options else '') + 'verify_asan_link_order=0'}

    def _set(self, index, value):
        struct.pack_into('<q', self.map, 8 * index, value)

    def _get(self, index):
        return struct.unpack_from('<q', self.map, 8 * index)[0]

    def rule(self, call, **fields):
        """Arms one call: at=N, from_=N, share=0..1, error=errno. What is not named is cleared."""
        base = CALLS.index(call) * len(FIELDS)
        fields['from'] = fields.pop('from_', 0)
        fields['share'] = int(fields.get('share', 0) * SHARE_ALL)
        for name in ('at', 'from', 'share'):  # disarmed while the count is set anew
            self._set(base + FIELDS.index(name), 0)
        self._set(base + FIELDS.index('calls'), 0)
        self._set(base + FIELDS.index('failed'), 0)
        self._set(base + FIELDS.index('error'), fields.get('error', 0))
        for name in ('at', 'from', 'share'):
            self._set(base + FIELDS.index(name), fields.get(name, 0))

    def count(self, call, field='failed'):
        return self._get(CALLS.index(call) * len(FIELDS) + FIELDS.index(field))

    def set(self, name, value):
        self._set(len(CALLS) * len(FIELDS) + GLOBALS.index(name), value)

    def get(self, name):
        return self._get(len(CALLS) * len(FIELDS) + GLOBALS.index(name))

    def clear(self):
        for call in CALLS:
            self.rule(call)
        self.set('most_bytes', 0)
        self.set('wall_offset_s', 0)

    @contextlib.contextmanager
    def armed(self, call, **fields):
        self.rule(call, **fields)
        try:
            yield self
        finally:
            self.rule(call)


def slow():
    """True in builds where one start of the daemon takes long."""
    return TIME_FACTOR > 1
