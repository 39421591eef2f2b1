"""Round trips through Celery with a Redis broker and result backend: tasks of 64 bytes, 512 under way, one worker process.

    celery -A celery_round_trips worker --pool solo      in one process
    python3 celery_round_trips.py SECONDS                in another

Prints round trips per second. PEER_REDIS is the address of the server.
"""

import os
import sys
import time

from celery import Celery

ADDRESS = os.environ["PEER_REDIS"]
PAYLOAD = "x" * 64
WINDOW = 512

app = Celery("celery_round_trips", broker=ADDRESS, backend=ADDRESS)
app.conf.update(worker_prefetch_multiplier=64, task_ignore_result=False, result_expires=60)


@app.task
def answer(payload):
    return payload


def measure(seconds):
    # The first answer shows that there is a worker.
    assert answer.delay(PAYLOAD).get(timeout=30) == PAYLOAD
    waiting = [answer.delay(PAYLOAD) for _ in range(WINDOW)]
    counted = 0
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        waiting.append(answer.delay(PAYLOAD))
        assert waiting.pop(0).get(timeout=30) == PAYLOAD
        counted += 1
    assert counted > 0, "there was no round trip"
    print(f"round_trips_per_second {counted / (time.monotonic() - start):.0f}")


if __name__ == "__main__":
    measure(float(sys.argv[1]))
