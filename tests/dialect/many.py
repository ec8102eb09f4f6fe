#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make CoreSight frames with bytes of many IDs: many.py OUT NR_IDS RUN BYTES

About RUN consecutive bytes have the same ID.
"""
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from formatter import Formatter, random_queue  # noqa: E402

rng = random.Random(7)
ids = list(range(1, 1 + int(sys.argv[2])))
queue = random_queue(rng, int(sys.argv[4]), ids, int(sys.argv[3]))
with open(sys.argv[1], 'wb') as file:
    file.write(Formatter(rng, pad=0, again=0).run(queue)[0])
