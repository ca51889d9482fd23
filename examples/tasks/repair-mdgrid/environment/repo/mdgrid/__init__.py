"""Markdown tables and boxed text tables."""

from mdgrid.box import boxed
from mdgrid.markdown import markdown, read_markdown
from mdgrid.wrap import wrap

__all__ = ["boxed", "markdown", "read_markdown", "wrap"]
