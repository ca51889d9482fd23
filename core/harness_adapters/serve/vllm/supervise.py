"""A process that starts vLLM, tells when it answers, and takes all of it along when it ends.

vLLM is several processes. They get a session of their own; when this process is told to end, loses
its parent, or loses vLLM's first process, the whole session is killed.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from types import FrameType
from typing import IO

from harness_adapters.errors import BadInput, InfraError
from harness_adapters.serve import child
from harness_adapters.serve.vllm.flags import Options, environment, flags, is_cpu_build, vllm_python

SERVER = "vllm.entrypoints.openai.api_server"
POLL_SECONDS = 0.2
END_SECONDS = 4.0
PR_SET_PDEATHSIG = 1
LINES_KEPT = 400

_STAGES = {
    "Starting to load model": "loading the weights",
    "GPU KV cache size": "making place for the KV cache",
    "Warming up model for the compilation": "compiling",
    "Capturing CUDA graphs": "capturing CUDA graphs",
}
_CAUSES = {
    r"out of memory|No available memory for the cache|Cannot allocate memory|less than desired GPU"
    r"|larger than the available KV cache memory": "not enough memory",
    r"[Aa]ddress already in use": "the port is taken",
    r"are not supported for now|no support for|not supported by|Unsupported": "not supported",
    r"unrecognized arguments|invalid choice|error: argument": "it does not know a flag",
    r"No module named": "its environment is incomplete",
}


class _Ended(Exception):
    """vLLM's first process is gone."""


class Supervisor:
    """One vLLM, from its start to its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._port = options.port or _free_port()
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._python = vllm_python()
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Serve until told to end.

        :raises BadInput: vLLM cannot serve this here.
        :raises InfraError: it ended, for whatever else.
        """
        signal.signal(signal.SIGTERM, self._told_to_end)
        child.say(progress=f"starting vLLM with {self._python}")
        cpu = is_cpu_build(self._python)
        given = flags(self._options, port=self._port, cpu=cpu)
        arguments = [self._python, "-m", SERVER, *given]
        self._process = subprocess.Popen(
            arguments,
            env=environment(self._options.cores, cpu=cpu),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        assert self._process.stdout is not None
        reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        reader.start()
        try:
            self._await_health()
            url = f"http://127.0.0.1:{self._port}"
            child.say(url=url, port=self._port, model=self._options.name, flags=given)
            self._process.wait()
            raise _Ended
        except _Ended:
            reader.join(END_SECONDS)
            raise self._why() from None
        finally:
            self.end()

    def end(self) -> None:
        """End all processes of vLLM: kindly, then at once."""
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(END_SECONDS)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def _told_to_end(self, number: int, frame: FrameType | None) -> None:
        self.end()
        os._exit(128 + number)

    def _read(self, output: IO[str]) -> None:
        """Keep what vLLM says, pass it on to our log, and tell of its stages."""
        told: set[str] = set()
        for line in output:
            self._lines.append(line.rstrip())
            sys.stderr.write(line)
            for mark, stage in _STAGES.items():
                if mark in line and stage not in told:
                    told.add(stage)
                    child.say(progress=f"vLLM: {stage}")

    def _await_health(self) -> None:
        assert self._process is not None
        while self._process.poll() is None:
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{self._port}/health", timeout=2
                ) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(POLL_SECONDS)
        raise _Ended

    def _why(self) -> BadInput | InfraError:
        """By the first line that names a cause we know, or else the first that is an error: those
        after it only pass it on."""
        assert self._process is not None
        lines = [_bare(line) for line in self._lines]
        for pattern, cause in _CAUSES.items():
            for line in lines:
                if re.search(pattern, line):
                    return BadInput(f"vLLM did not start, {cause}: {line}")
        errors = (line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line))
        first = next(errors, "it said nothing of an error")
        return InfraError(f"vLLM ended with exit code {self._process.returncode}: {first}")


def supervise(options: Options, *, as_child: bool = False) -> None:
    """Run vLLM until interrupted. Prints JSON lines on standard output: ``progress``, and once it
    answers ``url``, ``port``, ``model`` and its ``flags``.

    :param as_child: end when standard input does, as it does with the parent's life.
    :raises BadInput: vLLM is not installed, or cannot serve this here.
    :raises InfraError: it ended, for whatever else.
    """
    supervisor = Supervisor(options)
    if as_child:
        child.end_with_parent(supervisor.end)
    try:
        supervisor.run()
    except KeyboardInterrupt:
        pass


def _bare(line: str) -> str:
    """A log line without its prefix."""
    line = re.sub(r"^(\(.*?\)\s*)?(\w+ \d\d-\d\d \d\d:\d\d:\d\d )?(\[\S+\]\s*)?", "", line)
    return " ".join(line.split())[:400]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with_parent() -> None:
    """In the new process: be killed when the one that started it dies, however it does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
