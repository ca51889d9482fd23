"""Errors in OpenAI's shape, which Chat Completions and Responses share."""

from __future__ import annotations

from typing import Any

import orjson

from harness_adapters.gateway.failures import UpstreamError, WireError


def error_object(error: WireError, message: str) -> dict[str, Any]:
    kind = "invalid_request_error" if error.status < 500 else "api_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": error.code}}


def error_body(error: WireError) -> bytes:
    """The engine's own error where it sent one in this shape, else one of the gateway."""
    if isinstance(error, UpstreamError) and error.body is not None:
        return error.body
    return orjson.dumps(error_object(error, str(error)))
