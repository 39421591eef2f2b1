"""The machines of a peer: pure, without a clock, a socket or a file.

An event and the time go in, actions come out, and a host carries them out in order. The tables of docs/protocol.md, section 6,
say what each machine does; times are seconds of any monotonic clock.
"""
