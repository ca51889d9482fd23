"""A small text template engine."""

from stencil.errors import TemplateError
from stencil.template import Template, render

__all__ = ["Template", "TemplateError", "render"]
