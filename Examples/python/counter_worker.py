"""A worker of the Counter example in Python: python3 counter_worker.py ipc:///FOLDER. It is written with clients/python."""

import argparse
import asyncio

from samovar import Unhandled, Worker

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("endpoint")
options.add_argument("--key", help="a key file, for a store beyond this machine")
options.add_argument("--slots", type=int, default=1)
options.add_argument("--delay", type=float, default=1.0, help="how many seconds the slow work takes")
chosen = options.parse_args()
counter = Worker("Counter", endpoint=chosen.endpoint, key=chosen.key, slots=chosen.slots)


@counter.handler()
async def handle(effect, job):
    match effect:
        case {"addOne": {"to": count}}:
            await asyncio.sleep(chosen.delay)
            return {"finished": {"count": count + 1}}
    raise Unhandled("an effect that this worker does not know")


# SIGTERM drains: what runs has five seconds, and goes to another worker then.
asyncio.run(counter.run())
