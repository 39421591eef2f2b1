#!/usr/bin/env python3
"""Takes a share of a processor, in milliseconds of work and of rest, until it is ended: burn.py SHARE."""

import sys
import time

share = min(1.0, float(sys.argv[1]))
work = 0.05
while True:
    end = time.thread_time() + work
    while time.thread_time() < end:
        pass
    time.sleep(work * (1 - share) / share)
