from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_adapters.errors import BrokenTask
from harness_adapters.tasks.dockerfile import Image, read_dockerfile


def read(tmp_path: Path, text: str, *files: str) -> Image:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "Dockerfile").write_text(text)
    return read_dockerfile(tmp_path / "Dockerfile")


def test_copies_and_workdir(tmp_path: Path) -> None:
    image = read(
        tmp_path,
        """\
# syntax=docker/dockerfile:1
FROM debian:12 AS base
ARG PLACE=/work
ENV A=1 B="two words"
ENV OLD form of it
ENV PATH=/venv/bin:$PATH
USER agent
COPY --chown=agent:agent repo/ $PLACE/
WORKDIR ${PLACE}
COPY one.txt two.txt \\
     # between
     data/
COPY ["one.txt", "renamed.txt"]
COPY da?a/*.csv csv/
CMD ["bash"]
""",
        "repo/a.py",
        "one.txt",
        "two.txt",
        "data/x.csv",
        "data/y.json",
    )
    assert image.workdir == "/work"
    assert image.files == {
        "/work": tmp_path / "repo",
        "/work/data/one.txt": tmp_path / "one.txt",
        "/work/data/two.txt": tmp_path / "two.txt",
        "/work/renamed.txt": tmp_path / "one.txt",
        "/work/csv/x.csv": tmp_path / "data/x.csv",
    }
    assert image.environment == {"A": "1", "B": "two words", "OLD": "form of it"}


def test_two_folders_copied_to_one_place_are_both_there(tmp_path: Path) -> None:
    image = read(tmp_path, "FROM x\nCOPY a/ /work\nCOPY b/ /work\n", "a/1", "b/2", "b/sub/3")
    assert image.files == {
        "/work": tmp_path / "a",
        "/work/2": tmp_path / "b/2",
        "/work/sub": tmp_path / "b/sub",
    }


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("FROM x\n\nRUN make\n", "RUN make at line 3"),
        ("FROM x\nrun \\\n  make\n", "RUN make at line 2"),
        ("FROM x\nADD a b\n", "ADD at line 2"),
        ("FROM x\nFROM y\n", "a second FROM at line 2"),
        ("FROM x\nCOPY --from=y /a /work/a\n", "COPY --from at line 2"),
        ("FROM x\nCOPY <<EOF /work/a\nhi\nEOF\n", "COPY << at line 2"),
        ("FROM x\nCOPY a /usr/bin/a\n", "COPY /usr/bin/a at line 2"),
        ("FROM x\nCOPY a /tests/\n", "COPY /tests at line 2"),
        ("FROM x\nCOPY a /work/../logs/verifier/a\n", "COPY /logs/verifier/a at line 2"),
        ("FROM x\nCOPY a /\n", "COPY / at line 2"),
        ("FROM x\nWORKDIR /opt/ha/site\n", "WORKDIR /opt/ha/site at line 2"),
        ("FROM x\nCOPY a here\n", "COPY 'here' without a WORKDIR at line 2"),
    ],
)
def test_what_only_an_engine_can_do_is_named_with_its_line(
    tmp_path: Path, text: str, what: str
) -> None:
    with pytest.raises(BrokenTask, match=r"needs docker: ") as caught:
        read(tmp_path, text, "a")
    assert str(caught.value).endswith(f"Dockerfile: needs docker: {what}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("COPY ../tests /work/", "leaves the bundle"),
        ("COPY a/../../tests /work/", "leaves the bundle"),
        ("COPY nothing /work/", "finds no 'nothing'"),
        ("COPY a", "needs a source and a target"),
        ("COPY [1, 2]", "needs a source and a target"),
        ("COPY [", "no valid list"),
        ("COPY 'a /work", "No closing quotation"),
    ],
)
def test_bad_copies_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(BrokenTask, match=message):
        read(tmp_path, f"FROM x\n{line}\n", "a")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [
                "COPY",
                "ENV",
                "RUN",
                "mkdir",
                "&&",
                "WORKDIR",
                "ARG",
                "FROM",
                "\\",
                '"',
                "a",
                "=",
                "$",
                "{",
            ]
        )
        | st.text(max_size=5),
        max_size=30,
    )
)
def test_any_text_is_read_or_refused(tmp_path: Path, words: list[str]) -> None:
    text = " ".join(words).encode("utf-8", "replace")
    (tmp_path / "Dockerfile").write_bytes(text)
    try:
        image = read_dockerfile(tmp_path / "Dockerfile")
    except BrokenTask:
        return
    assert all(place.startswith("/") for place in image.files)


def test_what_a_sandbox_can_run_without_an_engine(tmp_path: Path) -> None:
    image = read(
        tmp_path,
        "FROM x\n"
        "RUN useradd -m agent && mkdir -p /work/out /logs/verifier \\\n"
        "    && chown -R agent:agent /work  # all is the agent's\n"
        "RUN pip install --no-cache-dir pytest==9.0.0\n"
        "WORKDIR /work\n"
        "RUN mkdir in\n",
    )
    assert image.folders == ("/work/out", "/work/in")


@pytest.mark.parametrize(
    "command",
    [
        "apt-get install -y git",
        "mkdir -p /work && curl -o x http://example.com",
        "mkdir -p /usr/share/x",
        "mkdir -m 700 /work",
        "mkdir $(cat x)",
        "mkdir a; rm b",
        "mkdir {a,b}",
        "mkdir a > b",
        "mkdir a &&",
        "pip install pytest numpy",
        "pip install -r requirements.txt",
        "chown a b || true",
        '["mkdir", "/work/a"]',
        "--mount=type=cache,target=/x mkdir a",
        "mkdir <<EOF",
    ],
)
def test_what_else_is_run_needs_docker(tmp_path: Path, command: str) -> None:
    with pytest.raises(BrokenTask, match=r"needs docker: RUN.* at line 3"):
        read(tmp_path, f"FROM x\nWORKDIR /work\nRUN {command}\n")


def test_only_a_verifiers_image_fills_the_tests_folder(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\nCOPY . /tests/\nWORKDIR /work\n")
    with pytest.raises(BrokenTask, match="needs docker: COPY /tests"):
        read_dockerfile(tmp_path / "Dockerfile")
    assert read_dockerfile(tmp_path / "Dockerfile", tests=True).files == {"/tests": tmp_path}
