"""``ha gateway`` as a person uses it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest
from command import HA, Done

CALL = {"id": "c", "type": "function", "function": {"name": "bash"}}


class _Model(BaseHTTPRequestHandler):
    """Calls a tool that the request does not declare, which every default guard set blocks."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


class Shell:
    """One person's terminal: its own home, no running gateways at the start."""

    def __init__(self, home: Path) -> None:
        self.project = home / "project"
        self.project.mkdir()
        self.env = {
            **os.environ,
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def ha(self, *args: str) -> Done:
        done = subprocess.run(
            [*HA, "gateway", *args],
            env=self.env,
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str) -> Any:
        done = self.ha("start", *args, "--detach", "--json")
        assert done.code == 0, done.stderr
        return done.json


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.ha("stop", "--all")


def ask(url: str) -> Any:
    body = json.dumps({"model": "m", "messages": [], "tools": []}).encode()
    with urlopen(Request(f"{url}/v1/chat/completions", data=body), timeout=30) as response:
        return json.loads(response.read())["choices"][0]["message"]


def test_from_start_to_stop(shell: Shell, model: str) -> None:
    started = shell.start(model)
    assert started["lines"]["claude"] == f"ANTHROPIC_BASE_URL={started['url']} claude"
    assert "admin_key" not in started
    listed = shell.ha("ls", "--json").json["gateways"]
    assert [(one["id"], one["pid"]) for one in listed] == [(started["id"], started["pid"])]
    assert "admin_key" not in listed[0]

    assert "not run" in ask(started["url"])["content"]
    (row,) = shell.ha("logs", "--json").json["verdicts"]
    assert row["rules"] == ["declared_tools.undeclared"]
    assert row["id"] in shell.ha("logs").stdout
    assert shell.ha("allow", row["id"], "--json").json["once"] is True
    assert ask(started["url"])["tool_calls"][0]["id"] == "c"
    assert "not run" in ask(started["url"])["content"]
    again = shell.ha("logs", "--json").json["verdicts"][-1]["id"]
    assert shell.ha("allow", again, "--always").code == 0
    assert ask(started["url"])["tool_calls"] and ask(started["url"])["tool_calls"]
    assert Path(started["guard_toml"]).read_text().count("[[allow]]") == 1
    assert list(shell.project.iterdir()) == []

    assert shell.ha("stop", "--json").json == {"stopped": [started["id"]]}
    assert shell.ha("ls", "--json").json == {"gateways": []}


def test_log_only_blocks_nothing_and_a_log_is_written_when_asked(shell: Shell, model: str) -> None:
    started = shell.start(model, "--log-only", "--log", "verdicts.log")
    assert ask(started["url"])["tool_calls"]
    (row,) = map(json.loads, (shell.project / "verdicts.log").read_text().splitlines())
    assert row["outcome"] == "would_block"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 0)]
)
def test_in_the_foreground_it_prints_the_lines_and_ends_when_told(
    shell: Shell, model: str, number: signal.Signals, code: int
) -> None:
    with subprocess.Popen(
        [*HA, "gateway", "start", model],
        env=shell.env,
        cwd=shell.project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = ""
        while "permissions:" not in said:
            said += process.stderr.readline()
        process.send_signal(number)
        assert process.wait(30) == code
        assert "Traceback" not in process.stderr.read()
    for harness in ("claude", "codex", "opencode", "pi", "hermes"):
        assert f"\n{harness}:\n" in said
    assert shell.ha("ls", "--json").json == {"gateways": []}


def test_several_gateways_are_told_apart(shell: Shell, model: str) -> None:
    one, other = shell.start(model), shell.start(model)
    done = shell.ha("stop")
    assert done.code == 2 and one["id"] in done.stderr and other["id"] in done.stderr
    assert shell.ha("stop", one["id"]).code == 0
    assert [g["id"] for g in shell.ha("ls", "--json").json["gateways"]] == [other["id"]]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("start", "not-a-url"), "must be an http(s) URL"),
        (("start", "https://a.example", "--guards", "tampr"), "did you mean 'tamper'"),
        (("start", "https://a.example", "--guards", "tamper,tamper"), "named twice"),
        (("start", "https://a.example", "--host", "0.0.0.0"), "--admin-key"),
        (("start", "https://a.example", "--project", "nowhere"), "no folder nowhere"),
        (("start", "https://a.example", "--log", "no/such/folder/x"), "cannot write"),
        (("start", "https://a.example", "--guards", "tampr", "--detach"), "did you mean"),
        (("stop",), "no gateway is running"),
        (("logs", "abc"), "no gateway is running"),
        (("allow", "abc"), "no gateway is running"),
    ],
)
def test_bad_input_is_told_in_a_line(shell: Shell, args: tuple[str, ...], said: str) -> None:
    done = shell.ha(*args)
    assert done.code == 2 and said in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 2
    assert shell.ha("ls", "--json").json == {"gateways": []}


def test_a_port_in_use_is_told(shell: Shell, model: str) -> None:
    port = model.removesuffix("/v1").rpartition(":")[2]
    done = shell.ha("start", model, "--port", port)
    assert done.code == 2 and f"port {port}" in done.stderr
