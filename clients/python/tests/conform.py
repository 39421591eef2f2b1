"""What `samovar conform worker|client|subscriber -- python3 conform.py ROLE` tries: see docs/conformance.md."""

import asyncio
import json
import os
import sys

from samovar import Applied, Client, Permanent, Refused, Rejected, Unhandled, Worker

ENDPOINT = os.environ["SAMOVAR_ENDPOINT"]


async def work():
    worker = Worker("Conform", endpoint=ENDPOINT, slots=2, read_ahead=2)

    @worker.handler()
    async def handle(effect, job):
        match effect:
            case {"echo": {"text": text}}:
                return {"echoed": {"text": text}}
            case {"fail": {"text": text, "permanent": permanent}}:
                raise Permanent(text) if permanent else RuntimeError(text)
            case {"sleep": {"milliseconds": milliseconds}}:
                await asyncio.sleep(milliseconds / 1000)
                return {"slept": {}}
            case {"report": {"count": count}}:
                for number in range(count):
                    job.progress(number / count)
                    await asyncio.sleep(0.1)
                return {"slept": {}}
            case {"send": {"count": count}}:
                for number in range(count):
                    job.send({"counted": {"number": number + 1}})
            case {"stream": {"count": count}}:
                for number in range(job.resume.index if job.resume else 0, count):
                    await job.stream({"counted": {"number": number + 1}}, checkpoint=number + 1)
            case _:
                raise Unhandled("an effect that this worker does not know")

    await worker.run()


def line(receipt):
    match receipt:
        case Applied(turn):
            return {"status": "applied", "turn": turn}
        case Refused(value, turn):
            return {"status": "refused", "turn": turn, "refusal": value}
        case Rejected(text):
            return {"status": "rejected", "reason": text}
        case _:
            return {"status": "unknown", "reason": receipt.reason}


async def send():
    receipts = asyncio.Queue()

    async def read(client):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        async for text in reader:
            # A task begins in the order in which it was made, so the inputs keep theirs.
            await receipts.put(asyncio.create_task(client.send(json.loads(text))))
        await receipts.put(None)

    async with Client("Conform", endpoint=ENDPOINT) as client:
        reading = asyncio.create_task(read(client))
        connected = asyncio.create_task(client.connected())
        while receipt := await receipts.get():
            print(json.dumps(line(await receipt)), flush=True)
        await asyncio.gather(reading, connected)


async def watch():
    async with Client("Conform", endpoint=ENDPOINT) as client:
        async for view in client.views():
            print(json.dumps({"turn": view.turn, "view": view.value}), flush=True)


asyncio.run({"worker": work, "client": send, "subscriber": watch}[sys.argv[1]]())
