"""Clients and operators at real stores, which are killed."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import textwrap
import unittest
from collections import deque
from typing import Any
from unittest import mock

from support import DEADLINE, ROOT, Store, StoreTests, eventually, needs, program

from samovar import (
    Applied,
    Client,
    ClientClosed,
    Endpoint,
    EndpointError,
    ErrorCode,
    Job,
    NoStore,
    Operator,
    OutputGap,
    OutputPlace,
    PeerRefused,
    Refused,
    Rejected,
    RequestRefused,
    Unknown,
    Worker,
)


@needs("counter")
class ClientTests(StoreTests):
    async def test_inputs_are_applied_refused_or_rejected(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            first = await client.send({"increment": {}})
            self.assertIsInstance(first, Applied)
            self.assertIsInstance(await client.send("incrementAsync"), Applied)
            busy = await client.send({"incrementAsync": {}})
            assert isinstance(busy, Refused)
            self.assertEqual(busy.value, {"busy": {}})
            self.assertIn("unknown case", str(await client.send("explode")))
            self.assertIsInstance(await client.send({"increment": {"by": 1}}), Rejected)
            view = await client.view(at_least=busy.turn)
            self.assertGreaterEqual(view.turn, busy.turn)
            self.assertEqual(view.value["sync"], "1")

    async def test_a_store_that_is_killed_again_and_again_applies_each_input_once(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            inputs = deque(asyncio.ensure_future(client.send("increment")) for _ in range(50))
            for _ in range(3):
                newest = inputs[-1]
                inputs.extend(asyncio.ensure_future(client.send("increment")) for _ in range(50))
                await newest
                self.store.kill()
                self.store.start()
            receipts = await asyncio.gather(*inputs)
            turns = [receipt.turn for receipt in receipts if isinstance(receipt, Applied)]
            self.assertEqual(len(turns), 200)
            self.assertEqual(turns, sorted(set(turns)), "in the order in which they were sent, each in a turn of its own")
            self.assertEqual((await client.view(at_least=turns[-1])).value["sync"], "200")

    async def test_views_go_on_over_a_restart_and_the_newest_comes(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client, asyncio.TaskGroup() as group:
            seen: list[str] = []

            async def watch() -> None:
                async for view in client.views():
                    seen.append(view.value["sync"])

            group.create_task(watch())
            await eventually("the current view", lambda: seen == ["0"])
            await client.send("increment")
            await eventually("the next view", lambda: seen[-1] == "1")
            self.store.kill()
            self.store.start()
            await client.send("increment")
            await eventually("the view after the restart", lambda: seen[-1] == "2")
            await client.close()

    async def test_every_view_is_that_of_each_turn(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            views = client.every_view()
            seen = [(await anext(views)).value["sync"]]
            await asyncio.gather(*(client.send("increment") for _ in range(20)))
            seen += [(await anext(views)).value["sync"] for _ in range(20)]
            self.assertEqual(seen, [str(number) for number in range(21)])

    async def test_a_client_of_another_program_is_refused_and_nobody_waits_for_ever(self) -> None:
        with self.assertRaises(PeerRefused) as caught:
            async with asyncio.timeout(DEADLINE), Client("Quotes", endpoint=self.store.endpoint) as client:
                receipt, view = await asyncio.gather(client.send("next"), client.view(), return_exceptions=True)
                self.assertIsInstance(receipt, Unknown)
                self.assertIsInstance(view, PeerRefused)
                await client.settled(1)
        self.assertEqual(caught.exception.code, ErrorCode.SCHEMA)

    async def test_what_waits_is_told_when_the_client_is_closed(self) -> None:
        self.store.kill()
        async with asyncio.timeout(DEADLINE), self.client() as client:
            waiting = [asyncio.ensure_future(one) for one in (client.send("increment"), client.settled(1), client.view())]
            await asyncio.sleep(0.05)
            await client.close()
            receipt, settled, view = await asyncio.gather(*waiting, return_exceptions=True)
            self.assertIsInstance(receipt, Unknown)
            self.assertIn("the client left", str(settled))
            self.assertIsInstance(view, ClientClosed)
            with self.assertRaises(ClientClosed):
                await client.send("increment")

    async def test_a_client_that_was_not_entered_says_so(self) -> None:
        with self.assertRaisesRegex(ClientClosed, "enter"):
            await self.client().send("increment")

    async def test_the_session_may_end_with_an_input(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            last = client.send("increment", ends_session=True)
            self.assertIsInstance(await last, Applied)
            self.assertIsInstance(await client.send("increment"), Rejected)

    async def test_the_first_of_several_endpoints_that_answers_is_taken(self) -> None:
        async with asyncio.timeout(DEADLINE):
            for order in ("ipc:///nowhere,{}", "{},tcp://127.0.0.1:1"):
                async with Client("Counter", endpoint=order.format(self.store.endpoint)) as client:
                    await client.connected()
                    async for view in client.views():
                        self.assertEqual(view.value["sync"], "0")
                        break


@needs("counter")
class LoopbackTests(unittest.IsolatedAsyncioTestCase):
    async def test_tcp_of_this_machine_needs_no_key(self) -> None:
        # One of these ports may be taken: the store ends then.
        port = random.randrange(20_000, 32_000, 4)
        store = Store("counter", "--insecure-tcp", endpoint=f"tcp://127.0.0.1:{port}")
        self.addCleanup(store.remove)
        worker = Worker("Counter", endpoint=store.endpoint)
        worker.handler()(answer)
        async with asyncio.timeout(DEADLINE), Client("Counter", endpoint=store.endpoint) as client, asyncio.TaskGroup() as group:
            group.create_task(worker.run(signals=False))
            receipt = await client.send("incrementAsync")
            assert isinstance(receipt, Applied)
            await client.settled(receipt.turn)
            async for view in client.views():
                self.assertEqual(view.value["async"], "1")
                break
            worker.drain()


async def answer(effect: Any, job: Job) -> Any:
    return {"finished": {"count": effect["addOne"]["to"] + 1}}


@needs("counter")
class OutboxTests(StoreTests):
    SENDER = """
        import asyncio, sys
        from samovar import Client

        async def main():
            async with Client("Counter", endpoint=sys.argv[1], outbox=sys.argv[2]) as client:
                async def send():
                    await client.send("increment")
                    print("sent", flush=True)
                async with asyncio.TaskGroup() as group:
                    for _ in range(200):
                        group.create_task(send())

        asyncio.run(main())
        """

    async def test_inputs_of_a_client_that_is_killed_are_applied_once(self) -> None:
        outbox = self.store.folder / "outbox"
        script = self.store.folder / "sender.py"
        script.write_text(textwrap.dedent(self.SENDER))
        command = [sys.executable, str(script), self.store.endpoint, str(outbox)]
        sender = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert sender.stdout is not None
        async with asyncio.timeout(DEADLINE):
            await sender.stdout.readline()
            sender.kill()
            rest = (await sender.communicate())[0]
            self.store.kill()
            self.store.start()
            async with self.client(outbox=outbox) as client:
                restored = [item async for item in client.restored()]
                turns = [receipt.turn for _, receipt in restored if isinstance(receipt, Applied)]
                view = await client.view(max(turns, default=0))
        self.assertEqual([input for input, _ in restored], ["increment"] * len(turns), "and all of them are applied")
        # Some outcomes were printed, and not yet noted as seen when the process was killed.
        self.assertGreaterEqual(1 + rest.count(b"sent") + len(restored), 200)
        self.assertEqual(view.value["sync"], "200")
        self.assertEqual(os.stat(outbox).st_mode & 0o777, 0o600)

    async def test_the_command_takes_over_what_this_package_has_left(self) -> None:
        outbox = self.store.folder / "outbox"
        self.store.kill()
        async with self.client(outbox=outbox) as client:
            sending = asyncio.ensure_future(client.send("increment"))
            await eventually("it is on disk", lambda: b"increment" in outbox.read_bytes())
            await client.close()
            self.assertIn("kept in the outbox", str(await sending))
        self.store.start()
        command = [str(program("counter")), "send", "--outbox", str(outbox), "--endpoint", self.store.endpoint, "--timeout", "20"]
        sent = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertIn("applied", sent.stdout)
        async with asyncio.timeout(DEADLINE), self.client() as client:
            self.assertEqual((await client.view()).value["sync"], "1")

    async def test_this_package_takes_over_what_the_command_has_left(self) -> None:
        outbox = self.store.folder / "outbox"
        self.store.kill()
        command = [str(program("counter")), "send", "increment", "--outbox", str(outbox), "--endpoint", self.store.endpoint]
        await asyncio.to_thread(subprocess.run, [*command, "--timeout", "1"], capture_output=True)
        self.store.start()
        async with asyncio.timeout(DEADLINE), self.client(outbox=outbox) as client:
            found = [item async for item in client.restored()]
        (restored,) = found
        self.assertEqual((restored[0], type(restored[1])), ("increment", Applied))


@needs("counter")
class OperatorTests(StoreTests):
    async def test_a_store_is_asked_and_told(self) -> None:
        operator = self.operator
        self.assertEqual((await operator.ask("status", patience=DEADLINE))["program"], "Counter")
        self.assertEqual((await operator.status())["phase"], "serving")
        self.assertIn("default", str(await operator.ask("pause", {"queue": "default"})))
        with self.assertRaisesRegex(RequestRefused, "fly"):
            await operator.ask("fly")
        self.store.kill()
        with self.assertRaises(NoStore):
            await operator.ask("status", patience=0.2)

    async def test_operators_are_not_heard_on_tcp_without_a_key(self) -> None:
        with self.assertRaisesRegex(EndpointError, "key"):
            Operator(endpoint="tcp://127.0.0.1:7410")

    async def test_a_data_folder_has_an_endpoint(self) -> None:
        folder = self.store.folder / "other"
        with mock.patch.dict(os.environ, {"SAMOVAR_RUNTIME_DIR": f"{self.store.folder}/run"}):
            command = [str(program("counter")), "store", "--data", str(folder)]
            store = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                status = await Operator(endpoint=Endpoint.of_data_folder(folder)).ask("status", patience=DEADLINE)
            finally:
                store.kill()
                store.wait()
        self.assertEqual(status["program"], "Counter")


@needs("ContractProgram")
class OutputTests(StoreTests):
    PROGRAM, NAME = "ContractProgram", "Contract"

    async def test_outputs_come_in_order_none_twice_and_none_left_out(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            await client.send({"emit": {"count": 5}})
            first = [output async for output in client.outputs(wait=False)]
            self.assertEqual([output.value for output in first], [1, 2, 3, 4, 5])
            rest = client.outputs(OutputPlace.parse(str(first[2].place)))
            heard = [(await anext(rest)).value for _ in range(2)]
            self.store.kill()
            self.store.start()
            await client.send({"emit": {"count": 2}})
            heard += [(await anext(rest)).value for _ in range(2)]
            self.assertEqual(heard, [4, 5, 6, 7])

    async def test_a_place_of_another_journal_is_a_gap(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            with self.assertRaises(OutputGap) as caught:
                await anext(client.outputs(OutputPlace(1, 0, b"x" * 16)))
            self.assertEqual(caught.exception.next.timeline, (await client.view()).timeline)

    async def test_who_stops_waiting_for_outputs_leaves_nothing_behind(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            await client.connected()
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await anext(client.outputs())
            await client.send({"emit": {"count": 1}})
            self.assertEqual((await anext(client.outputs())).value, 1)


@needs("counter")
class ReadmeTests(StoreTests):
    async def test_the_ten_lines_of_the_readme_serve_counters_effect(self) -> None:
        text = (ROOT / "clients" / "python" / "README.md").read_text()
        script = self.store.folder / "worker.py"
        # On the store's own machine they do without the key.
        lines = text.split("```python\n")[1].split("```")[0]
        self.assertIn(", key=sys.argv[2]", lines)
        script.write_text(lines.replace(", key=sys.argv[2]", ""))
        command = [sys.executable, str(script), self.store.endpoint]
        worker = await asyncio.create_subprocess_exec(*command, stderr=subprocess.DEVNULL)
        async with asyncio.timeout(DEADLINE), self.client() as client:
            receipt = await client.send("incrementAsync")
            assert isinstance(receipt, Applied)
            self.assertEqual(await client.settled(receipt.turn), [])
            self.assertEqual((await client.view()).value["async"], "1")
            worker.terminate()
            self.assertEqual(await worker.wait(), 0)


if __name__ == "__main__":
    unittest.main()
