#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Look at a recording step by step, as in a notebook: hot.py PERF.DATA [SYMFS]

The module is built by tools/python/build.py; PYTHONPATH names its folder. This needs NumPy.
"""
import sys

import numpy
from ntrace_session import CALL, Error, Recording

# %% Open the recording. Code is read from the paths that it names, or from these paths below SYMFS.
try:
    recording = Recording(sys.argv[1], symfs=sys.argv[2] if len(sys.argv) > 2 else None)
except (Error, IndexError) as error:
    sys.exit(f'{error}\n{__doc__}')

# %% Print the five functions that executed the most instructions.
insns = recording.instructions()
symbols, where = numpy.unique(insns['symbol'], return_inverse=True)
sums = numpy.bincount(where, weights=insns['count']).astype(int)
for n in numpy.argsort(-sums, kind='stable')[:5]:
    print(f'{sums[n]:12} instructions of {recording.name(symbols[n]) or "?"}')

# %% Print the numbers of taken branches and of calls, and the median distance to the target.
branches = recording.branches()
whole = branches[branches['flags'] == 0]
distance = numpy.abs(whole['to'].astype(numpy.int64) - whole['from'].astype(numpy.int64))
print(f'{len(whole):12} branches, {numpy.count_nonzero(whole["kind"] == CALL)} of them calls')
print(f'{int(numpy.median(distance)):12} bytes is the median distance')

# %% Print the numbers of places where decoding is incomplete.
losses, errors, gaps = recording.totals()
print(f'{losses} losses, {errors} errors, {gaps} places without code')
