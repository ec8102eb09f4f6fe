# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Read the executed code from recordings of N-Trace, as NumPy arrays, or as lists of tuples without NumPy.

    with Recording('perf.data') as recording:
        branches = recording.branches()
        print(len(branches), 'branches')
"""
import os

from _ntrace import ffi, lib

try:
    import numpy
except ImportError:
    numpy = None

BRANCH = [('time', '<u8'), ('from', '<u8'), ('to', '<u8'), ('insns', '<u8'), ('cpu', '<i4'), ('pid', '<i4'), ('tid', '<i4'),
          ('kind', 'u1'), ('flags', 'u1'), ('reserved', '<u2')]
CALL_RECORD = [('time', '<u8'), ('ns', '<u8'), ('on_cpu_ns', '<u8'), ('at', '<u8'), ('insns', '<u8'), ('cpu', '<i4'), ('pid', '<i4'),
               ('tid', '<i4'), ('thread', '<u4'), ('object', '<u4'), ('symbol', '<u4'), ('kind', 'u1'), ('open', 'u1'), ('reserved', '<u2', (3,))]
INSN = [('address', '<u8'), ('count', '<u8'), ('object', '<u4'), ('symbol', '<u4')]

# Values of the field kind, and bits of the field flags
CONDITIONAL, JUMP, CALL, RETURN, SYSCALL, EXCEPTION, INTERRUPT, TRAP_RETURN, NONE = range(1, 10)
BEGIN, END = 1, 2


class Error(Exception):
    """The reason why a recording cannot be read, as a sentence"""


def _text(chars):
    return ffi.string(chars).decode(errors='replace') if chars != ffi.NULL else None


class Recording:
    """A recording of perf record or ntrace record. Arrays are copies, which remain valid after close()."""

    def __init__(self, path, symfs=None, buildid_dir=None, threads=0):
        """See ntrace-script(1) for @symfs and @buildid_dir. If @threads is 0, use one thread for each processor."""
        encode = [ffi.NULL if s is None else ffi.new('char[]', os.fsencode(s)) for s in (path, symfs, buildid_dir)]
        self._names = encode    # the library uses these strings until close()
        recording = lib.py_open(*encode, threads)
        if recording == ffi.NULL:
            raise MemoryError
        # close the recording when Python frees this object
        self._recording = ffi.gc(recording, lib.py_close)
        error = _text(lib.py_error(self._recording))
        if error:
            self.close()
            raise Error(error)

    def close(self):
        if self._recording is not None:
            ffi.release(self._recording)
        self._recording = None

    def _open(self):
        if self._recording is None:
            raise Error('the recording is closed')
        return self._recording

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _array(self, call, type_, fields):
        recording = self._open()
        at, nr = ffi.new(f'const struct {type_} **'), ffi.new('size_t *')
        if call(recording, at, nr):
            raise Error(_text(lib.py_error(recording)))
        if numpy is None:
            return [tuple(getattr(one, name) for name, *_ in fields) for one in at[0][0:nr[0]]]
        size = ffi.sizeof(f'struct {type_}')
        assert size == numpy.dtype(fields).itemsize
        return numpy.frombuffer(bytes(ffi.buffer(at[0], nr[0] * size)) if nr[0] else b'', dtype=fields)

    def branches(self):
        """Return an array of BRANCH with all taken branches, in the order of each CPU"""
        return self._array(lib.py_branches, 'py_branch', BRANCH)

    def instructions(self):
        """Return an array of INSN with the number of executions of each instruction, by file and address"""
        return self._array(lib.py_insns, 'py_insn', INSN)

    def calls(self):
        """
        Return an array of CALL_RECORD with all calls, sorted by their start times. A call is an interval of its thread's
        instructions: the field at is the number of instructions before it, and insns the number of instructions in it.
        The interval of a call is inside that of its caller.
        If the field open is not 0, the end of the call was not recorded.
        """
        return self._array(lib.py_calls, 'py_call', CALL_RECORD)

    def name(self, number):
        """Return the name for an object or symbol of the last instructions() or calls(), or None if it is unknown"""
        return _text(lib.py_name(self._open(), number))

    def totals(self):
        """Return the numbers of (losses, errors, places without code) of the last call; the code executed there is unknown"""
        totals = ffi.new('uint64_t[3]')
        lib.py_totals(self._open(), totals)
        return tuple(totals)
