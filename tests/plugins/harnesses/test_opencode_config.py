"""The driver's pure parts: options, the program, the configuration, how a run ended."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ha_harness_opencode.config import config_file
from ha_harness_opencode.driver import OpencodeDriver
from ha_harness_opencode.ending import Progress, how_it_ended
from ha_harness_opencode.options import OpencodeOptions, opencode_options
from ha_harness_opencode.program import native_packages
from harness_adapters import BadInput, Ended, Endpoint, Limits, MissingPrerequisite, Sampling
from harness_adapters.harness.headless import Ran
from harness_adapters.harness.npm import NpmPackage


class TestOptions:
    def test_the_version_is_pinned(self) -> None:
        assert opencode_options({}) == OpencodeOptions(version="1.18.33", path=None)
        assert opencode_options({"version": "1.18.0"}).version == "1.18.0"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"verison": "1.18.33"}, "has no option 'verison'; did you mean 'version'"),
            ({"version": "latest"}, "'latest' is not one exact version"),
            ({"version": ""}, "option 'version' must be a non-empty string"),
            ({"path": "/opt/opencode", "version": "1.18.33"}, "leave out the other options"),
        ],
    )
    def test_nonsense_is_refused_with_the_near_match(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(BadInput) as caught:
            OpencodeDriver(options)
        assert message in str(caught.value)


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def manifest(*offered: str) -> dict[str, Any]:
    return {
        "name": "opencode-ai",
        "version": "9.9.9",
        "optionalDependencies": dict.fromkeys(offered, "9.9.9"),
    }


class TestProgram:
    async def test_another_program_is_not_taken(self) -> None:
        with pytest.raises(MissingPrerequisite, match="is no opencode"):
            await OpencodeDriver({"path": sys.executable}).install()

    async def test_a_script_around_it_is_not_taken(self, tmp_path: Path) -> None:
        """What it starts would not be there in a sandbox."""
        script = program(tmp_path / "opencode", "exec /elsewhere/opencode")
        with pytest.raises(MissingPrerequisite, match="holds no npm package"):
            await OpencodeDriver({"path": str(script)}).install()

    async def test_nothing_at_the_path_is_said_so(self, tmp_path: Path) -> None:
        for place in (tmp_path, tmp_path / "none"):
            with pytest.raises(MissingPrerequisite, match="holds no npm package"):
                await OpencodeDriver({"path": str(place)}).install()

    async def test_an_installed_package_s_program_is_found(self, tmp_path: Path) -> None:
        modules = tmp_path / "node_modules"
        (modules / "opencode-ai").mkdir(parents=True)
        described = manifest("opencode-linux-x64", "opencode-linux-arm64")
        (modules / "opencode-ai/package.json").write_text(json.dumps(described))
        driver = OpencodeDriver({"path": str(modules / "opencode-ai")})
        with pytest.raises(MissingPrerequisite, match="has no program for this machine"):
            await driver.install()
        for name in described["optionalDependencies"]:
            program(modules / name / "bin/opencode", "")

        toolchain = await driver.install()

        assert toolchain.version == "9.9.9"
        assert toolchain.mounts[0].source.is_relative_to(modules.resolve())

    @pytest.mark.parametrize(
        ("machine", "libc", "avx2", "names"),
        [
            ("x86_64", "glibc", True, ["x64", "x64-baseline"]),
            ("x86_64", "glibc", False, ["x64-baseline", "x64"]),
            ("x86_64", "", True, ["x64-musl"]),
            ("aarch64", "glibc", False, ["arm64"]),
            ("riscv64", "glibc", False, []),
        ],
    )
    def test_each_machine_has_its_own(
        self,
        monkeypatch: pytest.MonkeyPatch,
        machine: str,
        libc: str,
        avx2: bool,
        names: list[str],
    ) -> None:
        monkeypatch.setattr("platform.machine", lambda: machine)
        monkeypatch.setattr("platform.libc_ver", lambda: (libc, ""))
        monkeypatch.setattr("ha_harness_opencode.program._has_avx2", lambda: avx2)
        offered = ("x64", "x64-baseline", "x64-musl", "arm64")
        package = NpmPackage(
            name="opencode-ai",
            version="9.9.9",
            folder=Path("/m/opencode-ai"),
            root=Path("/m"),
            manifest=manifest(*(f"opencode-linux-{name}" for name in offered)),
        )

        assert list(native_packages(package)) == [f"opencode-linux-{name}" for name in names]


def test_the_configuration_says_where_and_how() -> None:
    entry = config_file(
        Endpoint(base_url="http://127.0.0.1:1/s/k", model="a/b:c", api_key="k"),
        Sampling(temperature=0.25, top_p=0.5),
        Limits(max_output_tokens=77),
        workdir="/work",
    )

    config = json.loads(entry.content)
    provider = config["provider"]["ha"]
    assert provider["options"] == {"baseURL": "http://127.0.0.1:1/s/k/v1", "apiKey": "k"}
    assert provider["models"]["a/b:c"]["limit"]["output"] == 77
    assert config["enabled_providers"] == ["ha"]
    assert config["small_model"] == "ha/a/b:c"
    assert config["agent"]["build"] == {"temperature": 0.25, "top_p": 0.5}
    assert config["compaction"] == {"auto": False, "prune": False}
    assert next(iter(config["permission"])) == "*"  # the last rule that fits wins
    assert {tool for tool, rule in config["permission"].items() if rule == "deny"} == {
        "task", "question", "webfetch", "websearch",
    }  # fmt: skip
    assert entry.mode == 0o600


def finish(reason: str) -> dict[str, Any]:
    return {"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason}}


def error(name: object, **data: str) -> dict[str, Any]:
    return {"type": "error", "sessionID": "ses_1", "error": {"name": name, "data": data}}


def ran(*, timed_out: bool = False) -> Ran:
    return Ran(returncode=0, stderr="\n oops \nmore", timed_out=timed_out, seconds=1.0)


START = {"type": "step_start", "sessionID": "ses_1", "part": {}}


@pytest.mark.parametrize(
    ("events", "ended", "detail"),
    [
        ([START, finish("stop")], Ended.COMPLETED, ""),
        ([START, finish("tool-calls"), START, finish("stop")], Ended.COMPLETED, ""),
        ([START, finish("length")], Ended.COMPLETED, "the last answer was cut"),
        ([START, finish("unknown")], Ended.ERROR, "the last answer ended with 'unknown'"),
        ([START, error("APIError", message="500\nboom")], Ended.ERROR, "APIError: 500"),
        ([error("UnknownError")], Ended.ERROR, "UnknownError"),
        ([{"type": "error", "error": 7}], Ended.ERROR, "an error without a message"),
        ([START, finish("tool-calls")], Ended.DIED, "in the middle of its work, exit code 0: oops"),
        ([START, finish("stop"), START], Ended.DIED, "in the middle of its work"),
        ([], Ended.DIED, "before it started to work, exit code 0: oops"),
        # What a program in the sandbox might write into the stream.
        ([{"type": 1}, {"type": "step_finish", "part": []}], Ended.DIED, "before it started"),
    ],
)
def test_the_stream_says_how_it_ended(
    events: list[dict[str, Any]], ended: Ended, detail: str
) -> None:
    progress = Progress()
    for event in events:
        progress.see(event)

    got = how_it_ended(progress, ran())

    assert got[0] == ended
    assert got[1].startswith(detail)


def test_it_is_done_only_until_another_step_starts() -> None:
    progress = Progress()
    done = []
    for event in (START, finish("tool-calls"), START, finish("stop"), START):
        progress.see(event)
        done.append(progress.over.is_set())

    assert done == [False, False, False, True, False]
    assert progress.session == "ses_1"


def test_the_clock_has_the_last_word() -> None:
    progress = Progress()
    progress.see(START)
    progress.see(finish("stop"))

    assert how_it_ended(progress, ran(timed_out=True))[0] == Ended.TIMEOUT
