"""Engines as a run uses them: found, started, noticed when they die, gone when we are."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner

from harness_adapters.cli.engine import command
from harness_adapters.errors import BadInput, InfraError
from harness_adapters.serve.engine import EngineSpec, open_engine, parse_engine
from harness_adapters.serve.scripted.cheats import CHEATS
from harness_adapters.types import Task


class TestParse:
    @pytest.mark.parametrize(
        ("text", "kind", "value"),
        [
            ("http://127.0.0.1:8000", "url", "http://127.0.0.1:8000"),
            ("https://models.example/v1/", "url", "https://models.example"),
            ("scripted:oracle", "scripted", "oracle"),
            ("scripted", "scripted", "oracle"),
            ("scripted:cheat:conftest", "scripted", "cheat:conftest"),
            ("embedded:./tiny", "embedded", "./tiny"),
            ("vllm:Qwen/Qwen3-0.6B", "vllm", "Qwen/Qwen3-0.6B"),
        ],
    )
    def test_known(self, text: str, kind: str, value: str) -> None:
        assert parse_engine(text) == EngineSpec(kind=kind, value=value)

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("scriptd:oracle", "did you mean 'scripted'"),
            ("scripted:oracel", "did you mean 'oracle'"),
            ("scripted:", "plays"),
            ("embeded:tiny", "did you mean 'embedded'"),
            ("embedded", "name a model"),
            ("vllm:", "name a model"),
            ("http://", "host"),
            ("", "no engine"),
        ],
    )
    def test_unknown(self, text: str, hint: str) -> None:
        with pytest.raises(BadInput, match=hint) as caught:
            parse_engine(text)
        assert "\n" not in str(caught.value)


class TestUrl:
    async def test_takes_the_first_model(self, engine: Any, repair: Task) -> None:
        async with engine([repair]) as http:
            spec = parse_engine(str(http._base_url))
            async with open_engine(spec, tasks=[repair]) as running:
                assert running.model == "scripted"
                assert running.alive()
                assert running.flags["url"] == running.url == str(http._base_url).rstrip("/")
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(running.wait_dead(), 0.05)

    async def test_an_unknown_model_is_bad_input(self, engine: Any, repair: Task) -> None:
        async with engine([repair]) as http:
            spec = parse_engine(str(http._base_url))
            with pytest.raises(BadInput, match="did you mean 'scripted'"):
                async with open_engine(spec, tasks=[repair], model="scriptd"):
                    pass

    async def test_nobody_there_is_bad_input_in_one_line(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(BadInput, match="no engine answers") as caught:
                async with open_engine(parse_engine(url), tasks=[]):
                    pass
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("answer", [b"hello", b"{}", b'{"data": []}', b'{"data": [1]}'])
    async def test_something_else_there_is_bad_input(self, answer: bytes) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(answer) + answer)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(BadInput, match="model"):
                async with open_engine(parse_engine(f"http://127.0.0.1:{port}"), tasks=[]):
                    pass


def process_of(url: str) -> int:
    """The process that listens at a loopback URL."""
    port = f"{int(url.rsplit(':', 1)[1]):04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inode = next(f[9] for f in map(str.split, lines) if f[1].endswith(":" + port) and f[3] == "0A")
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if link.readlink().name == f"socket:[{inode}]":
                return int(link.parts[2])
        except OSError:
            continue
    raise AssertionError("nobody listens")


async def ended(pid: int, *, within: float) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        await asyncio.sleep(0.05)
    return False


class TestScripted:
    async def test_starts_answers_and_ends(self, repair: Task) -> None:
        async with open_engine(parse_engine("scripted:nop"), tasks=[repair]) as running:
            assert running.model == "scripted"
            assert running.flags["play"] == "nop"
            assert running.template
            async with aiohttp.ClientSession() as http:
                body = {"messages": [{"role": "user", "content": repair.instruction}]}
                async with http.post(f"{running.url}/v1/chat/completions", json=body) as response:
                    reply = await response.json()
            assert "done" in reply["choices"][0]["message"]["content"]
            pid = process_of(running.url)
        assert await ended(pid, within=1)

    async def test_takes_a_model_name(self, repair: Task) -> None:
        async with open_engine(
            parse_engine("scripted:nop"), tasks=[repair], model="m.pi.x.v1"
        ) as running:
            assert running.model == "m.pi.x.v1"

    async def test_its_death_is_noticed(self, repair: Task) -> None:
        """RF32: an engine that dies mid-run must not go unnoticed."""
        async with open_engine(parse_engine("scripted:nop"), tasks=[repair]) as running:
            waiting = asyncio.ensure_future(running.wait_dead())
            assert running.alive()
            os.kill(process_of(running.url), signal.SIGKILL)
            assert await asyncio.wait_for(waiting, 5) == "signal 9"
            assert not running.alive()

    async def test_a_start_that_fails_says_why(self, repair: Task) -> None:
        (repair.path / "task.toml").unlink()
        with pytest.raises(InfraError, match="no task in it"):
            async with open_engine(parse_engine("scripted:nop"), tasks=[repair]):
                pass

    async def test_dies_with_a_parent_that_is_killed(self, repair: Task) -> None:
        script = (
            "import asyncio, sys\n"
            "from harness_adapters.serve.engine import open_engine, parse_engine\n"
            "from harness_adapters.tasks.bundle import load_task\n"
            "async def main():\n"
            "    tasks = [load_task(sys.argv[1])]\n"
            "    async with open_engine(parse_engine('scripted:nop'), tasks=tasks) as engine:\n"
            "        print(engine.url, flush=True)\n"
            "        await asyncio.Event().wait()\n"
            "asyncio.run(main())\n"
        )
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", script, str(repair.path)), stdout=asyncio.subprocess.PIPE
        )
        assert parent.stdout is not None
        pid = process_of((await parent.stdout.readline()).decode().strip())
        parent.kill()
        await parent.wait()
        assert await ended(pid, within=5)


class TestCommand:
    def test_lists_classes(self) -> None:
        result = CliRunner().invoke(command, ["scripted", "--list", "--json"])
        listed = orjson.loads(result.output)
        assert {row["name"]: row["kinds"] for row in listed["cheats"]} == {
            cheat.name: list(cheat.kinds) for cheat in CHEATS
        }
        assert all(row["summary"] for row in listed["cheats"])
        assert "oracle" in listed["plays"]

    def test_lists_for_people(self) -> None:
        result = CliRunner().invoke(command, ["scripted", "--list"])
        assert "cheat:conftest" in result.output

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["oracel", "--tasks", "."], "did you mean"),
            (["oracle"], "--tasks"),
            (["oracle", "--tasks", "/nowhere"], "no such folder"),
        ],
    )
    def test_bad_input(self, arguments: list[str], hint: str) -> None:
        result = CliRunner().invoke(command, ["scripted", *arguments])
        assert isinstance(result.exception, BadInput)
        assert hint in str(result.exception)

    def test_a_port_in_use(self, repair: Task) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            root = str(repair.path.parent)
            result = CliRunner().invoke(command, ["scripted", "--tasks", root, "--port", port])
        assert isinstance(result.exception, BadInput)
        assert f"port {port}" in str(result.exception)

    def test_serves_until_interrupted(self, repair: Task) -> None:
        arguments = ["engine", "scripted", "oracle", "--tasks", str(repair.path.parent)]
        start = "from harness_adapters.cli import main; import sys; main(sys.argv[1:])"
        with subprocess.Popen(
            [sys.executable, "-c", start, *arguments], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            ready = orjson.loads(process.stdout.readline())
            assert ready["tasks"] == 1
            assert process_of(ready["url"]) == process.pid
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=5) in (0, 130)


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://user:s3cr3t@host:1", "http://host/?key=s3cr3t"]
)
def test_a_url_with_a_secret_or_a_slip_is_refused_without_repeating_the_secret(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_engine(url)
    assert "s3cr3t" not in str(refused.value)


async def test_the_key_of_an_engine_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def models(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Bearer s3cr3t":
            return web.Response(status=401)
        return web.json_response({"data": [{"id": "m"}]})

    app = web.Application()
    app.router.add_get("/v1/models", models)
    async with TestServer(app) as server:
        spec = parse_engine(str(server.make_url("")))
        monkeypatch.delenv("HA_ENGINE_API_KEY", raising=False)
        with pytest.raises(BadInput, match="HA_ENGINE_API_KEY"):
            async with open_engine(spec, tasks=[]):
                pass
        monkeypatch.setenv("HA_ENGINE_API_KEY", "s3cr3t")
        async with open_engine(spec, tasks=[]) as engine:
            assert engine.api_key == "s3cr3t"
            assert "s3cr3t" not in str(engine.flags)
