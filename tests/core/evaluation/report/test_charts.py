from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from harness_adapters.evaluation.report.charts import forest, heat_map
from harness_adapters.evaluation.report.document import Forest, HeatMap, Mark

numbers = st.none() | st.floats(allow_nan=False, min_value=-1e6, max_value=1e6)
marks = st.builds(
    Mark, label=st.text(max_size=60), est=numbers, lo=numbers, hi=numbers, text=st.text()
)


def mark(hi: float) -> Mark:
    return Mark(label="", est=None, lo=None, hi=hi, text="")


@given(st.lists(marks, max_size=5), st.booleans())
@example([mark(5e-324)], True)
@example([mark(1e308)], True)
@example([mark(1e308)], False)
def test_whatever_the_numbers_a_forest_stays_inside_its_frame(some: list[Mark], log: bool) -> None:
    limits = (0.8, 1.25) if log else (-5.0, 5.0)
    svg = forest(Forest(title="t", axis="a", marks=tuple(some), null=1.0, log=log, limits=limits))
    width, height = map(float, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    for name, most in (("x", width), ("x1", width), ("cx", width), ("y", height), ("cy", height)):
        for value in re.findall(rf' {name}="([^"]+)"', svg):
            assert 0 <= float(value) <= most


def test_labels_are_text_and_nothing_else() -> None:
    hostile = '"/><script>&</script>'
    mark = Mark(label=hostile, est=1.0, lo=None, hi=None, text=hostile)
    row = (mark,)
    for svg in (
        forest(Forest(title=hostile, axis=hostile, marks=row)),
        heat_map(
            HeatMap(
                title=hostile, rows=(hostile,), columns=(hostile,), marks=(row,), tones=((None,),)
            )
        ),
    ):
        root = ElementTree.fromstring(svg)
        assert {element.tag for element in root.iter()} <= {
            *("svg", "g", "title", "text", "line", "circle", "rect")
        }


def test_a_better_cell_and_a_worse_one_are_told_apart() -> None:
    mark = Mark(label="l", est=1.0, lo=0.5, hi=2.0, text="1.0 [0.5, 2.0]")
    svg = heat_map(
        HeatMap(
            title="t", rows=("r",), columns=("a", "b"), marks=((mark, mark),), tones=((0.5, -1.0),)
        )
    )
    assert "heat better" in svg and "--tone:50%" in svg
    assert "heat worse" in svg and "--tone:100%" in svg
    assert "[0.5, 2.0]" in svg
