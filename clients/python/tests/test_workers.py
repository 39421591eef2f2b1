"""Workers at real stores, which are killed, and workers that are."""

from __future__ import annotations

import asyncio
import logging
import unittest
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support import DEADLINE, StoreTests, eventually, needs

from samovar import Applied, Client, ErrorCode, Job, PeerRefused, Permanent, StreamError, Unhandled, Worker


@asynccontextmanager
async def running(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    """Runs a worker, and drains it at the end."""
    async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
        task = group.create_task(worker.run(signals=False))
        yield task
        worker.drain()


async def applied(client: Client, input: Any) -> int:
    receipt = await client.send(input)
    assert isinstance(receipt, Applied), receipt
    return receipt.turn


def noted(text: str) -> dict[str, Any]:
    return {"noted": {"_0": text}}


def streamed(number: int) -> dict[str, Any]:
    return {"streamed": {"_0": number}}


@needs("counter")
class CounterTests(StoreTests):
    async def test_an_answer_that_a_killed_store_had_not_written_down_is_applied_once(self) -> None:
        calls, release = [], asyncio.Event()
        worker = self.worker()

        @worker.handler()
        async def handle(effect: Any, job: Job) -> Any:
            calls.append(job.key)
            await release.wait()
            return {"finished": {"count": effect["addOne"]["to"] + 1}}

        async with self.client() as client, running(worker):
            turn = await applied(client, "incrementAsync")
            await eventually("the handler runs", lambda: calls)
            self.store.kill()
            release.set()
            await asyncio.sleep(0.05)
            self.store.start()
            self.assertEqual(await client.settled(turn), [])
            self.assertEqual((await client.view()).value["async"], "1")
        self.assertEqual(len(calls), 1, "the job went on beside the connection")

    async def test_effects_are_applied_once_while_the_store_is_killed_again_and_again(self) -> None:
        worker = self.worker()

        @worker.handler()
        async def handle(effect: Any, job: Job) -> Any:
            return {"finished": {"count": effect["addOne"]["to"] + 1}}

        async with self.client() as client, running(worker):
            for round in range(20):
                turn = await applied(client, "incrementAsync")
                if round % 5 == 4:
                    self.store.kill()
                    self.store.start()
                self.assertEqual(await client.settled(turn), [])
            self.assertEqual((await client.view()).value["async"], "20")

    async def test_a_worker_that_leaves_at_once_gives_its_job_to_another(self) -> None:
        keys = []
        started = asyncio.Event()
        first, second = self.worker(), self.worker()

        @first.handler()
        async def hang(effect: Any, job: Job) -> Any:
            keys.append(job.key)
            started.set()
            await asyncio.Event().wait()

        @second.handler()
        async def handle(effect: Any, job: Job) -> Any:
            keys.append(job.key)
            return {"finished": {"count": 1}}

        async with asyncio.timeout(DEADLINE), self.client() as client:
            run = asyncio.create_task(first.run(signals=False))
            turn = await applied(client, "incrementAsync")
            await started.wait()
            run.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await run
            async with running(second):
                self.assertEqual(await client.settled(turn), [])
        self.assertEqual(len(keys), 2)
        self.assertEqual(len(set(keys)), 1, "both attempts have the key of the effect")

    async def test_a_worker_of_another_program_is_refused(self) -> None:
        worker = Worker("Quotes", endpoint=self.store.endpoint)
        worker.handler()(lambda effect, job: asyncio.sleep(0))
        with self.assertRaises(PeerRefused) as caught:
            async with asyncio.timeout(DEADLINE):
                await worker.run(signals=False)
        self.assertEqual(caught.exception.code, ErrorCode.SCHEMA)

    async def test_a_worker_is_what_it_can_be(self) -> None:
        for options in ({"slots": 0}, {"slots": 65_537}, {"read_ahead": -1}):
            with self.assertRaises(ValueError):
                self.worker(**options)
        worker = self.worker()
        with self.assertRaises(ValueError):
            await worker.run()
        worker.handler("a", limit=1)(lambda effect, job: asyncio.sleep(0))
        with self.assertRaisesRegex(ValueError, "a handler already"):
            worker.handler("a")(lambda effect, job: asyncio.sleep(0))
        with self.assertRaises(ValueError):
            worker.handler("b", limit=0)


@needs("ContractProgram")
class ContractTests(StoreTests):
    PROGRAM, NAME = "ContractProgram", "Contract"

    async def test_a_stream_is_applied_once_over_killed_stores_and_lost_workers(self) -> None:
        begun: list[tuple[int, Any]] = []

        def streaming() -> Worker:
            worker = self.worker()

            @worker.handler()
            async def handle(effect: Any, job: Job) -> Any:
                done = job.resume.checkpoint if job.resume is not None else 0
                begun.append((job.attempt, done))
                for number in range(done + 1, effect["stream"]["count"] + 1):
                    await job.stream(streamed(number), checkpoint=number)
                    await asyncio.sleep(0.002)
                return {"turnedTo": {"phase": "streamed"}}

            return worker

        async with asyncio.timeout(DEADLINE), self.client() as client:
            turn = await applied(client, {"stream": {"count": 300, "milliseconds": 0}})
            first = asyncio.create_task(streaming().run(signals=False))
            await self.has_streamed(50)
            first.cancel()
            await asyncio.wait([first])
            async with running(streaming()):
                await self.has_streamed(150)
                self.store.kill()
                self.store.start()
                self.assertEqual(await client.settled(turn), [])
        state = await self.state()
        self.assertEqual(state["streamed"], list(range(1, 301)))
        self.assertEqual(state["phase"], "streamed")
        self.assertEqual(len(begun), 2)
        self.assertGreaterEqual(begun[1][1], 50)

    async def has_streamed(self, count: int) -> None:
        while len((await self.state())["streamed"]) < count:
            await asyncio.sleep(0.01)

    async def test_a_stream_of_many_waits_for_room_and_its_messages_have_a_size(self) -> None:
        worker = self.worker()
        errors: list[StreamError] = []

        @worker.handler()
        async def handle(effect: Any, job: Job) -> None:
            for message, checkpoint in ((bytes(2 << 20), None), (streamed(0), bytes(65 << 10))):
                try:
                    await job.stream(message, checkpoint=checkpoint)
                except StreamError as error:
                    errors.append(error)
            for number in range(500):
                await job.stream(streamed(number))
            job.send(noted("sent"))

        async with self.client() as client, running(worker):
            await client.settled(await applied(client, {"stream": {"count": 0, "milliseconds": 0}}))
            state = await self.state()
        self.assertEqual((state["streamed"], state["notes"]), (list(range(500)), ["sent"]))
        self.assertEqual(len(errors), 2)

    async def test_a_cancelled_effect_cancels_the_task_of_its_handler(self) -> None:
        worker = self.worker()
        events: list[str] = []

        @worker.handler()
        async def handle(effect: Any, job: Job) -> None:
            events.append("started")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                events.append("cancelled")
                raise

        async with self.client() as client, running(worker):
            await client.send({"hang": {"file": "none", "id": "a"}})
            await eventually("it starts", lambda: events)
            await client.send({"cancel": {"id": "a"}})
            await eventually("it is cancelled", lambda: events == ["started", "cancelled"])

    async def test_what_a_handler_raises_is_tried_again_unless_it_is_permanent(self) -> None:
        worker = self.worker()
        attempts: list[int] = []

        @worker.handler()
        async def handle(effect: Any, job: Job) -> None:
            job.send(noted("an attempt that fails has sent nothing"))
            attempts.append(job.attempt)
            match effect:
                case {"unknown": _}:
                    raise LookupError("not yet") if len(attempts) == 1 else Permanent("never")
            raise Unhandled("not mine")

        with self.assertLogs("samovar.worker", logging.WARNING) as logs:
            async with self.client() as client, running(worker):
                await client.settled(await applied(client, {"unknown": {}}))
                await client.settled(await applied(client, {"hang": {"file": "none", "id": "a"}}))
                notes = (await self.state())["notes"]
        self.assertEqual(attempts, [1, 2, 1])
        self.assertEqual(len(notes), 2)
        self.assertIn("never", notes[0])
        self.assertIn("not mine", notes[1])
        self.assertNotIn("not yet", "".join(logs.output), "what an exception says may be a payload")

    async def test_each_queue_has_its_handler_and_its_limit(self) -> None:
        worker = self.worker(slots=8)
        at_once = {"mail": 0, "search": 0}
        most = dict(at_once)

        @worker.handler("mail", limit=1)
        @worker.handler("search")
        async def handle(effect: Any, job: Job) -> Any:
            at_once[job.queue] += 1
            most[job.queue] = max(most[job.queue], at_once[job.queue])
            await asyncio.sleep(0.01)
            at_once[job.queue] -= 1
            return noted(f"{job.queue} {effect['publish']['text']}")

        async with self.client() as client:
            turns = [await applied(client, {"publish": {"text": str(number)}}) for number in range(4)]
            async with running(worker):
                for turn in turns:
                    await client.settled(turn)
            notes = (await self.state())["notes"]
        self.assertEqual(sorted(notes), sorted(f"{queue} {number}" for queue in most for number in range(4)))
        self.assertEqual(most["mail"], 1)
        self.assertGreater(most["search"], 1)

    async def test_progress_is_shown_while_the_job_runs(self) -> None:
        worker = self.worker()
        release = asyncio.Event()

        @worker.handler()
        async def handle(effect: Any, job: Job) -> None:
            job.progress(0.5, "half")
            await release.wait()

        async with self.client() as client, running(worker):
            await client.send({"hang": {"file": "none", "id": "a"}})
            while "half" not in str(await self.operator.ask("effects")):
                await asyncio.sleep(0.01)
            release.set()

    async def test_a_worker_that_drains_gives_back_what_has_a_checkpoint_and_finishes_the_rest(self) -> None:
        def streaming(slots: int) -> tuple[Worker, list[Any]]:
            worker = self.worker(slots=slots)
            begun: list[Any] = []

            @worker.handler()
            async def handle(effect: Any, job: Job) -> Any:
                if "add" in effect:
                    begun.append("add")
                    await asyncio.sleep(0.3)
                    return {"increment": {"by": 1}}
                begun.append(job.resume and job.resume.checkpoint)
                if job.resume is None:
                    await job.stream(streamed(1), checkpoint="first")
                    await asyncio.Event().wait()
                return {"turnedTo": {"phase": "streamed"}}

            return worker, begun

        async with asyncio.timeout(DEADLINE), self.client() as client:
            first, begun = streaming(2)
            run = asyncio.create_task(first.run(signals=False))
            turn = await applied(client, {"stream": {"count": 1, "milliseconds": 0}})
            await self.has_streamed(1)
            work = await applied(client, {"work": {"jobs": 1, "milliseconds": 0}})
            await eventually("the other job runs", lambda: "add" in begun)
            first.drain()
            await run
            self.assertEqual(await client.settled(work), [])
            second, begun = streaming(1)
            async with running(second):
                self.assertEqual(await client.settled(turn), [])
        self.assertEqual(begun, ["first"])
        self.assertEqual((await self.state())["streamed"], [1])


if __name__ == "__main__":
    unittest.main()
