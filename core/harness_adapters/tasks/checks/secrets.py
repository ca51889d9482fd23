"""Texts that look like credentials. A task is made to be shared, so it may hold none."""

from __future__ import annotations

import re
from collections.abc import Iterator

# By the forms that their issuers document.
_FORMS = {
    "a Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}\b",
    "an Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "an OpenAI key": r"\bsk-(?:proj-)?[A-Za-z0-9_-]{32,}",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})\b",
    "an AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a Google key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "a signed web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "an address with a password": r"\b[a-z][a-z0-9+.-]*://[^\s/:@'\"]+:[^\s/:@'\"]{3,}@[\w.-]+",
}
_COMPILED = {sort: re.compile(form) for sort, form in _FORMS.items()}


def secrets_in(content: str) -> Iterator[str]:
    """The sorts of credentials that stand in a text, each once."""
    for sort, form in _COMPILED.items():
        if form.search(content):
            yield sort
