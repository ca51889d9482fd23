"""From paths to documents: what ``ha report`` was given decides what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness_adapters.errors import BadInput
from harness_adapters.evaluation.arms import read_arm
from harness_adapters.evaluation.compare import MARGIN, compare
from harness_adapters.evaluation.plan import is_evaluation
from harness_adapters.evaluation.report.comparison import of_comparison
from harness_adapters.evaluation.report.document import Document
from harness_adapters.evaluation.report.evaluation import of_evaluation
from harness_adapters.evaluation.report.run import of_run
from harness_adapters.evaluation.results import find


def read_documents(
    paths: Sequence[Path], *, margin: float = MARGIN, seed: int = 0
) -> list[Document]:
    """Each evaluation by itself; run folders among ``paths`` are compared with the first of them,
    and a single one is shown alone.

    :raises BadInput: a path is neither, or the runs do not compare.
    """
    if not paths:
        raise BadInput("a report needs a run or an evaluation")
    evaluations = [path for path in paths if is_evaluation(path)]
    runs = [path for path in paths if path not in evaluations]
    documents = [of_evaluation(path, find(path, margin=margin, seed=seed)) for path in evaluations]
    if len(runs) == 1:
        documents.append(of_run(read_arm(runs[0])))
    elif runs:
        documents.append(of_comparison(compare(*runs, margin=margin, seed=seed)))
    return documents
