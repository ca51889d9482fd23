"""The page in a real browser: nothing logged, nothing asked for, nothing cut off, sortable."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import CHROMIUM, chromium
from evaluations import ADAPTER, HOSTILE, write_evaluation

from harness_adapters.evaluation.plan import Design
from harness_adapters.evaluation.report.html import to_html
from harness_adapters.evaluation.report.read import read_documents

CUT_OFF = """[...document.querySelectorAll("svg text")].filter(text => {
  const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
  return box.left < frame.left || box.right > frame.right
      || box.top < frame.top || box.bottom > frame.bottom;
}).map(text => text.textContent)"""
FIRST_COLUMN = (
    '[...document.querySelector("table").tBodies[0].rows].map(r => r.cells[3].dataset.sort)'
)


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("design", Design)
async def test_in_chromium(tmp_path: Path, scheme: str, design: Design) -> None:
    write_evaluation(
        tmp_path / "evaluation",
        design=design,
        harnesses=("pi", "opencode"),
        models=("base", ADAPTER.format("opencode"), HOSTILE),
    )
    page_file = tmp_path / "report.html"
    page_file.write_text(to_html(read_documents([tmp_path / "evaluation"])))
    async with chromium(tmp_path / "profile") as page:
        await page.open(page_file, scheme=scheme)
        background = await page.value("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 29)")
        assert await page.value("document.body.scrollWidth <= window.innerWidth")
        assert await page.value(CUT_OFF) == []
        await page.value('document.querySelectorAll("table th button")[3].click()')
        up = [float(one) for one in await page.value(FIRST_COLUMN)]
        await page.value('document.querySelectorAll("table th button")[3].click()')
        down = [float(one) for one in await page.value(FIRST_COLUMN)]
        assert up == sorted(up) and down == sorted(up, reverse=True)
        await page.screenshot(tmp_path / f"{scheme}.png")
        assert page.logged == []
        assert page.requested == [page_file.as_uri()]
