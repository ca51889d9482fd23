"""The page: whole, offline, and deaf to what hostile names say."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from evaluations import ADAPTER, HOSTILE, write_evaluation
from run_folders import attempt, write_run

from harness_adapters import BadInput, Outcome
from harness_adapters.evaluation.plan import Design
from harness_adapters.evaluation.report.document import Cell, Document, Section, Table
from harness_adapters.evaluation.report.html import to_html
from harness_adapters.evaluation.report.read import read_documents

VOID = {"meta", "line", "circle", "rect", "br"}


class Reader(HTMLParser):
    """Checks that elements nest, and keeps what is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts = 0
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    path = tmp_path / "evaluation"
    write_evaluation(
        path,
        design=Design.MATRIX,
        harnesses=("pi", "opencode"),
        models=("base", ADAPTER.format("pi"), HOSTILE),
    )
    return path


def test_a_page_needs_nothing_else(evaluation: Path) -> None:
    page = to_html(read_documents([evaluation]))
    reader = read(page)
    assert not any("//" in (value or "") for _, value in reader.attributes)
    assert "url(" not in page and "@import" not in page
    fetching = {"src", "srcset", "data", "action", "poster", "xlink:href"}
    assert not fetching & {name for name, _ in reader.attributes}
    links = [value for name, value in reader.attributes if name == "href"]
    targets = {value for name, value in reader.attributes if name == "id"}
    assert links and all(link and link[0] == "#" and link[1:] in targets for link in links)


def test_hostile_names_are_shown_and_do_nothing(evaluation: Path) -> None:
    reader = read(to_html(read_documents([evaluation])))
    assert reader.scripts == 1
    assert HOSTILE in reader.text and "<b>task</b>-00" in reader.text
    assert not any(name.startswith("on") for name, _ in reader.attributes)


def test_only_the_pages_own_script_may_run(evaluation: Path) -> None:
    page = to_html(read_documents([evaluation]))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page


def test_light_and_dark(evaluation: Path) -> None:
    page = to_html(read_documents([evaluation]))
    assert "prefers-color-scheme: dark" in page
    assert not re.findall(r'(?:fill|stroke)="', page)  # colours come from the style alone


def test_cells_carry_what_they_sort_by() -> None:
    table = Table(
        title="t", columns=("a", "b"), rows=((Cell("x"), Cell("1.0 [0, 2]", 1.0, "why")),)
    )
    page = to_html([Document(title="d", sections=(Section(title="s", blocks=(table,)),))])
    assert '<td data-sort="1.0" title="why">1.0 [0, 2]</td>' in page
    assert '<td class="text">x</td>' in page


def test_a_run_alone_runs_together_and_evaluations(evaluation: Path, tmp_path: Path) -> None:
    base, run = (
        write_run(tmp_path / name, [attempt(f"t{n}", cluster=f"c{n}") for n in range(8)])
        for name in ("base", "run")
    )
    titles = [
        [document.title for document in read_documents(paths)]
        for paths in ([base], [base, run], [evaluation, base], [evaluation, base, run])
    ]
    assert [len(title) for title in titles] == [1, 1, 2, 2]
    assert titles[0] == ["Run of m in pi"] and titles[1] == ["Comparison"]


@pytest.mark.parametrize("design", [Design.MODELS, Design.GUARDS])
def test_every_share_stands_with_its_interval(tmp_path: Path, design: Design) -> None:
    write_evaluation(tmp_path, design=design, models=("base", HOSTILE))
    for document in read_documents([tmp_path]):
        tables = [b for s in document.sections for b in s.blocks if isinstance(b, Table)]
        headline = [
            (table.title, column, row[number].text)
            for table in tables
            if table.title != "Tasks"
            for number, column in enumerate(table.columns)
            if any(word in column for word in ("%", "points,", "ratio", "difference"))
            for row in table.rows
        ]
        assert headline
        assert all("[" in text for _, _, text in headline), headline


def test_arms_without_a_single_result_are_shown_as_that(tmp_path: Path) -> None:
    tasks = [f"t{n}" for n in range(4)]
    begun = write_run(tmp_path / "begun", [], tasks=tasks)
    infra = write_run(tmp_path / "infra", [attempt(t, outcome=Outcome.INFRA) for t in tasks])
    for paths in ([begun], [infra], [begun, infra]):
        reader = read(to_html(read_documents(paths)))
        assert "-" in reader.text and "not run" in reader.text


def test_nothing_to_report_on(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run folder"):
        read_documents([tmp_path])
    with pytest.raises(BadInput, match="needs a run"):
        read_documents([])
