from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.gateway.guard.hosts import (
    host_of_operand,
    host_of_url,
    hosts_in,
    is_loopback,
    tidy_host,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Example.COM.", "example.com"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("[::ffff:10.0.0.1]", "10.0.0.1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("example\u3002com", "example.com"),
        ("999.1.1.1", "999.1.1.1"),
        ("3com.example", "3com.example"),
        ("1e100.net", "1e100.net"),
    ],
)
def test_a_host_has_one_spelling(written: str, meant: str) -> None:
    assert tidy_host(written) == meant


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://user:pw@Host.example:8443/x?y#z", "host.example"),
        ("https://known.example@evil.example/x", "evil.example"),
        ("http://[::1]:80/", "::1"),
        ("hf://datasets/a/b", "huggingface.co"),
        ("s3://bucket/key", "s3.amazonaws.com"),
        ("file:///etc/passwd", None),
        ("not a url", None),
    ],
)
def test_hosts_of_urls(url: str, host: str | None) -> None:
    assert host_of_url(url) == host


@pytest.mark.parametrize(
    ("word", "host"),
    [
        ("git@code.example.org:a/b.git", "code.example.org"),
        ("me@box.example:/tmp/x", "box.example"),
        ("localhost:8000/health", "localhost"),
        ("::1", "::1"),
        ("-v", None),
        ("README", None),
    ],
)
def test_hosts_of_operands(word: str, host: str | None) -> None:
    assert host_of_operand(word) == host


def test_text_names_hosts_by_url_and_people_by_name() -> None:
    text = "see (https://a.example/x), or ask b.example."
    assert hosts_in(text) == ["a.example"]
    assert hosts_in(text, bare=True) == ["a.example", "b.example"]


def test_this_machine() -> None:
    assert is_loopback("127.8.8.8") and is_loopback("localhost") and is_loopback("::1")
    assert not is_loopback("localhost.example.com") and not is_loopback("128.0.0.1")


@given(st.text(max_size=200))
def test_tidying_is_stable(text: str) -> None:
    once = tidy_host(text)
    assert tidy_host(once) == once
