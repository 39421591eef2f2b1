#!/usr/bin/env python3
"""What the explorer of a program's page needs for a long journal: explorer.py PROGRAM DATA-FOLDER.

It asks as the server of the page does, on standard input, while the store runs or not.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

program, data = sys.argv[1:3]


def resident(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


with tempfile.TemporaryDirectory() as folder:
    explorer = subprocess.Popen(
        [program, "explore", "--data", data, "--folder", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(path, /, **query):
        begin = time.monotonic()
        request = {"path": f"/api/v1/{path}", "query": {name: str(value) for name, value in query.items()}}
        explorer.stdin.write(json.dumps(request) + "\n")
        explorer.stdin.flush()
        answer = json.loads(explorer.stdout.readline())
        if "problem" in answer:
            sys.exit(f"{request}: {answer['problem']}")
        return answer, time.monotonic() - begin

    begin = time.monotonic()
    rows, _ = ask("turns", count=100)
    print("first_rows_milliseconds", round((time.monotonic() - begin) * 1000, 1))
    assert len(rows["rows"]) == 100, rows
    newest = rows["durable"]
    print("turns", newest)
    while not ask("density")[0]["isWhole"]:
        time.sleep(0.2)
    print("indexed_turns_per_second", round(newest / (time.monotonic() - begin)))
    # The states come after the index: the last checkpoint is there when its file is.
    while max([int(name) for _, _, names in os.walk(folder) for name in names if name.isdigit()], default=0) < newest - 200_000:
        if explorer.poll() is not None:
            sys.exit("the explorer has ended")
        time.sleep(0.2)
    print("worked_through_turns_per_second", round(newest / (time.monotonic() - begin)))
    seed = int(os.environ.get("SEED", "7"))
    pick = random.Random(seed)
    times = sorted(ask("state", turn=pick.randint(2, newest), path="state")[1] * 1000 for _ in range(100))
    print("state_p50_milliseconds", round(statistics.median(times), 1))
    print("state_p95_milliseconds", round(times[94], 1))
    _, time_of_rows = ask("turns", count=100)
    print("rows_milliseconds", round(time_of_rows * 1000, 1))
    print("resident_mebibytes", round(resident(explorer), 1))
    explorer.stdin.close()
    explorer.wait(timeout=10)
