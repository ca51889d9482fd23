"""What the gateway answers instead of a reply, typed by who is at fault.

```
WireError
├── Refused          the client's doing: bad body, unknown key, undeclared request
├── UpstreamError    the engine failed or refused (also an InfraError)
└── TokenError       the engine's reply cannot be trained on (also an InfraError)
```
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from harness_adapters.errors import HarnessAdaptersError, InfraError

log = logging.getLogger(__name__)


class WireError(HarnessAdaptersError):
    """A failed request, before any dialect has put it into its own shape.

    :ivar status: HTTP status for the client.
    :ivar code: short machine-readable reason.
    """

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Refused(WireError):
    """The gateway does not serve this request as it stands."""

    def __init__(self, message: str, *, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(message, status=status, code=code)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever goes wrong in here, before the engine has been asked, is for the client to mend:
    a request on which the gateway chokes makes no session unscorable.

    :raises Refused: it cannot be read.
    """
    try:
        yield
    except WireError:
        raise
    except Exception as error:
        log.exception("cannot read %s", what)
        raise Refused(f"{what} cannot be read: {type(error).__name__}") from error


def session_closed() -> Refused:
    """To a request of a session that has ended; the same as for a key that never was."""
    return Refused("the session is closed", status=401, code="invalid_api_key")


class UpstreamError(WireError, InfraError):
    """The engine could not be reached, failed, or refused the request.

    :ivar retry_after: the engine's ``Retry-After`` header, unchanged.
    :ivar body: the engine's own error object, when it sent one in OpenAI's shape.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 502,
        code: str = "upstream_error",
        retry_after: str | None = None,
        body: bytes | None = None,
    ) -> None:
        super().__init__(message, status=status, code=code)
        self.retry_after = retry_after
        self.body = body

    @property
    def infra(self) -> bool:
        """False for refusals that the conversation itself caused, such as one that is too long."""
        return self.status not in (400, 413, 422)

    @property
    def answered(self) -> bool:
        """The engine took the request up and failed on it: it is there, and not overloaded."""
        return self.code == "upstream_error" and self.status not in (429, 503)


class TokenError(WireError, InfraError):
    """Token ids or logprobs are missing or do not fit each other: nothing of it may be trained."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=502, code="tokens_unusable")
