"""The driver's pure parts: options, the configuration, how a run ended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ha_harness_hermes.config import command, config_file
from ha_harness_hermes.driver import HermesDriver
from ha_harness_hermes.ending import how_it_ended
from ha_harness_hermes.options import HermesOptions, hermes_options
from harness_adapters import BadInput, Ended, Endpoint, Limits, MissingPrerequisite, Sampling
from harness_adapters.harness.headless import Ran


class TestOptions:
    def test_the_version_is_pinned(self) -> None:
        assert hermes_options({}) == HermesOptions(version="0.19.0", path=None)
        assert hermes_options({"version": "0.18.2"}).version == "0.18.2"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"verison": "0.19.0"}, "has no option 'verison'; did you mean 'version'"),
            ({"version": ">=0.19"}, "'>=0.19' is not one exact version"),
            ({"version": 1}, "option 'version' must be a non-empty string"),
            ({"path": "/opt/hermes", "version": "0.19.0"}, "leave out the other options"),
        ],
    )
    def test_nonsense_is_refused_with_the_near_match(
        self, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(BadInput) as caught:
            HermesDriver(options)
        assert message in str(caught.value)

    async def test_an_installed_hermes_is_used_as_it_is(self, tmp_path: Path) -> None:
        metadata = tmp_path / "hermes_agent-9.9.9.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Name: hermes-agent\nVersion: 9.9.9\n")

        toolchain = await HermesDriver({"path": str(tmp_path)}).install()

        assert toolchain.version == "9.9.9"
        [mount] = toolchain.mounts
        assert (mount.source, mount.target) == (tmp_path.resolve(), "/opt/ha/hermes")

    async def test_a_path_without_a_hermes_is_said_so(self, tmp_path: Path) -> None:
        with pytest.raises(MissingPrerequisite, match="holds no installed hermes-agent"):
            await HermesDriver({"path": str(tmp_path)}).install()


def test_the_configuration_says_where_and_how() -> None:
    entry = config_file(
        Endpoint(base_url="http://127.0.0.1:1/s/k", model='a"b/c:d', api_key="k"),
        Sampling(temperature=0.25, top_p=0.5),
        Limits(max_output_tokens=77, max_requests=7),
    )

    config = json.loads(entry.content)
    [provider] = config["custom_providers"]
    assert provider["base_url"] == "http://127.0.0.1:1/s/k/v1"
    assert provider["extra_body"] == {"temperature": 0.25, "top_p": 0.5}
    assert config["model"]["provider"] == f"custom:{provider['name']}"
    assert config["model"]["default"] == 'a"b/c:d'
    assert config["model"]["max_tokens"] == 77
    assert config["model"]["context_length"] >= 64_000
    assert config["agent"]["max_turns"] > 7
    assert config["compression"] == {"enabled": False}
    assert entry.mode == 0o600


@pytest.mark.parametrize(
    "instruction", ["", "--help", "-z", "a\nb 漢 ", pytest.param("x" * 300_000, id="long")]
)
def test_the_instruction_is_one_argument(tmp_path: Path, instruction: str) -> None:
    package = tmp_path / "hermes_cli"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(
        "import sys, json\ndef main():\n    print(json.dumps(sys.argv))\n    return 3\n"
    )

    ran = subprocess.run(
        command(sys.executable, str(tmp_path), "--usage-file", "u"),
        input=instruction.encode(),
        capture_output=True,
        check=False,
    )

    given = [f"--oneshot={instruction}"] if instruction else []
    assert json.loads(ran.stdout) == ["hermes", "--usage-file", "u", *given]
    assert ran.returncode == 3


def ran(*, stderr: str = "", timed_out: bool = False) -> Ran:
    return Ran(returncode=0, stderr=stderr, timed_out=timed_out, seconds=1.0)


@pytest.mark.parametrize(
    ("usage", "answer", "ended", "detail"),
    [
        ('{"completed": true, "failed": false}', "done", Ended.COMPLETED, ""),
        ('{"completed": false, "failed": false}', "x", Ended.COMPLETED, "it stopped without"),
        ('{"completed": false, "failed": true}', "HTTP 500\nx", Ended.ERROR, "HTTP 500"),
        ('{"failed": true, "failure": "no\\nway"}', "", Ended.ERROR, "no"),
        ('{"failed": true}', "", Ended.ERROR, "oops"),
        ("", "", Ended.DIED, "in the middle of its work, exit code 0: oops"),
        # What a program in the sandbox might write there.
        ("[]", "", Ended.DIED, "in the middle of its work"),
        ("\xff{", "", Ended.DIED, "in the middle of its work"),
    ],
)
def test_the_usage_report_says_how_it_ended(
    usage: str, answer: str, ended: Ended, detail: str
) -> None:
    got = how_it_ended(
        usage.encode("latin-1"), ran(stderr="oops\nmore"), answer=answer.encode(), started=True
    )

    assert got[0] == ended
    assert got[1].startswith(detail)


def test_the_clock_has_the_last_word() -> None:
    usage = b'{"completed": true}'
    got = how_it_ended(usage, ran(timed_out=True), answer=b"", started=True)

    assert got[0] == Ended.TIMEOUT
