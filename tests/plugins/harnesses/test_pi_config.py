"""The driver's pure parts: options, the instruction's way into pi, how a run ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ha_harness_pi.config import config_files, split_instruction
from ha_harness_pi.driver import PiDriver
from ha_harness_pi.ending import Progress, how_it_ended
from ha_harness_pi.options import PiOptions, pi_options
from harness_adapters import BadInput, Ended, Endpoint, Limits, MissingPrerequisite, Sampling
from harness_adapters.harness.headless import Ran


class TestOptions:
    def test_defaults_are_pinned(self) -> None:
        assert pi_options({}) == PiOptions(
            package="@mariozechner/pi-coding-agent", version="0.73.1", path=None
        )
        successor = pi_options({"package": "@earendil-works/pi-coding-agent"})
        assert successor.version == "1.6.0"
        assert pi_options({"version": "0.70.0"}).version == "0.70.0"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"verison": "0.73.1"}, "has no option 'verison'; did you mean 'version'"),
            ({"version": "latest"}, "'latest' is not one exact version"),
            ({"version": 1}, "option 'version' must be a non-empty string"),
            ({"version": ""}, "option 'version' must be a non-empty string"),
            (
                {"package": "@mariozechner/pi-codingagent"},
                "needs a `version`; did you mean '@mariozechner/pi-coding-agent'",
            ),
            ({"package": "@Bad/Name", "version": "1.0.0"}, "is no npm package name"),
            ({"path": "/opt/pi", "version": "0.73.1"}, "leave out the other options"),
        ],
    )
    def test_nonsense_is_refused_with_the_near_match(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(BadInput) as caught:
            PiDriver(options)
        assert message in str(caught.value)

    async def test_an_installed_pi_is_used_as_it_is(self, tmp_path: Path) -> None:
        folder = tmp_path / "pi"
        (folder / "dist").mkdir(parents=True)
        (folder / "dist/cli.js").write_text("")
        manifest = {"name": "my-pi", "version": "9.9.9", "bin": {"pi": "dist/cli.js"}}
        (folder / "package.json").write_text(json.dumps(manifest))

        toolchain = await PiDriver({"path": str(folder)}).install()

        assert toolchain.version == "9.9.9"
        assert toolchain.mounts[0].source == folder.resolve()
        assert toolchain.mounts[0].target == "/opt/ha/pi/node_modules/my-pi"

    async def test_a_path_without_a_pi_is_said_so(self, tmp_path: Path) -> None:
        with pytest.raises(MissingPrerequisite, match="holds no npm package"):
            await PiDriver({"path": str(tmp_path)}).install()


def what_pi_reads(stdin: bytes, argument: str) -> str:
    space = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
        map(chr, range(0x2000, 0x200B))
    )
    return stdin.decode().strip(space) + argument


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
@example("--")
@example("-@- x")
@example("\ufeff- x \ufeff")
def test_an_instruction_is_neither_an_option_nor_a_file_and_stays_whole(instruction: str) -> None:
    stdin, argument = split_instruction(instruction)

    assert what_pi_reads(stdin, argument) == instruction
    assert not argument.startswith(("-", "@"))


@given(tail=st.text("\n \ufeff\u0085x", max_size=5))
def test_a_long_instruction_needs_no_long_argument(tail: str) -> None:
    instruction = "é" * 80_000 + tail

    stdin, argument = split_instruction(instruction)

    assert what_pi_reads(stdin, argument) == instruction
    assert len(argument) <= 5


def test_the_configuration_says_where_and_how() -> None:
    files = config_files(
        Endpoint(base_url="http://127.0.0.1:1/s/k", model='a"b/c:d', api_key="k"),
        Sampling(temperature=0.25, top_p=0.5),
        Limits(max_output_tokens=77),
    )

    provider = json.loads(files["models.json"].content)["providers"]["ha"]
    assert provider["baseUrl"] == "http://127.0.0.1:1/s/k/v1"
    assert provider["models"][0]["id"] == 'a"b/c:d'
    assert provider["models"][0]["maxTokens"] == 77
    settings = json.loads(files["settings.json"].content)
    assert settings["compaction"] == {"enabled": False}
    assert settings["enableInstallTelemetry"] is False
    assert b'{"temperature":0.25,"top_p":0.5}' in files["sampling.cjs"].content
    assert files["models.json"].mode == 0o600


def ran(*, stderr: str = "", timed_out: bool = False) -> Ran:
    return Ran(returncode=0, stderr=stderr, timed_out=timed_out, seconds=1.0)


def assistant(stop: str, error: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "stopReason": stop, "errorMessage": error}
    return {"type": "message_end", "message": message}


START, END = {"type": "agent_start"}, {"type": "agent_end"}
RETRY = {"type": "auto_retry_start"}


@pytest.mark.parametrize(
    ("events", "ended", "detail"),
    [
        ([START, assistant("stop"), END], Ended.COMPLETED, ""),
        ([START, assistant("toolUse"), assistant("stop"), END], Ended.COMPLETED, ""),
        ([START, assistant("length"), END], Ended.COMPLETED, "the last answer was cut"),
        ([START, assistant("error", "500\nboom"), END], Ended.ERROR, "500"),
        ([START, assistant("aborted"), END], Ended.ERROR, "aborted"),
        ([START, END], Ended.ERROR, "it ended without an answer"),
        (
            [START, assistant("error", "500"), END, RETRY],
            Ended.DIED,
            "in the middle of its work, exit code 0: oops",
        ),
        (
            [START, assistant("error", "500"), END, RETRY, START, assistant("stop"), END],
            Ended.COMPLETED,
            "",
        ),
        ([START, assistant("toolUse")], Ended.DIED, "in the middle of its work"),
        ([{"type": "session"}], Ended.DIED, "before it started to work"),
        ([], Ended.DIED, "before it started to work, exit code 0: oops"),
        # What a program in the sandbox might write into the stream.
        ([{"type": 1}, {"message": []}, {"type": "message_end", "message": 3}], Ended.DIED, ""),
    ],
)
def test_the_stream_says_how_it_ended(
    events: list[dict[str, Any]], ended: Ended, detail: str
) -> None:
    progress = Progress()
    for event in events:
        progress.see(event)

    got = how_it_ended(progress, ran(stderr="\n oops \nmore"))

    assert got[0] == ended
    assert got[1].startswith(detail)


def test_the_clock_has_the_last_word() -> None:
    progress = Progress()
    for event in (START, assistant("stop"), END):
        progress.see(event)

    assert how_it_ended(progress, ran(timed_out=True))[0] == Ended.TIMEOUT
