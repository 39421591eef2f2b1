"""Answers, for each line of hexadecimal MessagePack, a line with what the Python package makes of it."""

import sys

import msgpack

for line in sys.stdin:
    value = msgpack.unpackb(bytes.fromhex(line), strict_map_key=False, timestamp=0)
    print(repr(value), msgpack.packb(value, use_bin_type=True).hex(), sep="\t", flush=True)
