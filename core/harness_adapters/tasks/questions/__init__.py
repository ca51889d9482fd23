"""Seeded data questions: small CSV, JSON and SQLite files, one question each, with its gold answer.

``generate(seed, count)`` yields questions, ``write_bundle(question, folder)`` writes one as a task
bundle of kind ``qa``. A table (name and columns) is a cluster and belongs to one split for every
seed; its rows are drawn anew for each question.
"""

from harness_adapters.tasks.questions.bundle_writer import write_bundle, write_bundles
from harness_adapters.tasks.questions.generator import SPLITS, generate
from harness_adapters.tasks.questions.question import Answer, Question
from harness_adapters.tasks.questions.tables import Table, table, tables

__all__ = [
    "SPLITS",
    "Answer",
    "Question",
    "Table",
    "generate",
    "table",
    "tables",
    "write_bundle",
    "write_bundles",
]
