"""What goes to the upstream, what comes back, and who may ask."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.core.gateway.interactive.conftest import Agent, Start, Upstream, sse
from yarl import URL

from harness_adapters.errors import BadInput

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
SAID = {"choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}


def calling(*arguments: str) -> dict[str, Any]:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "bash", "arguments": raw}}
        for n, raw in enumerate(arguments)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


async def test_a_request_goes_on_as_it_came(agent: Agent, upstream: Upstream) -> None:
    upstream.says({"content": [], "stop_reason": "end_turn"})
    await agent.post(
        "/v1/messages?beta=true",
        ASK,
        Authorization="Bearer secret",
        **{
            "x-api-key": "other secret",
            "anthropic-beta": "thinking-1",
            "Accept-Encoding": "gzip, br",
            "Connection": "keep-alive, X-Private",
            "X-Private": "1",
            "Cookie": "a=b",
        },
    )
    ((path, headers, body),) = upstream.requests
    assert path == "/v1/messages?beta=true"
    assert json.loads(body) == ASK
    assert headers["Authorization"] == "Bearer secret"
    assert headers["x-api-key"] == "other secret"
    assert headers["anthropic-beta"] == "thinking-1"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["Host"] == upstream.url.removeprefix("http://")
    assert headers["Content-Length"] == str(len(body))
    assert not {"X-Private", "Cookie", "Connection"} & set(headers)


async def test_an_answer_comes_back_with_its_headers_and_its_own_length(
    agent: Agent, upstream: Upstream
) -> None:
    upstream.says(
        calling('{"command": "forbidden"}'),
        headers={"request-id": "r1", "Set-Cookie": "a=b", "Alt-Svc": "h3"},
    )
    status, reply, headers = await agent.post(CHAT, ASK)
    assert status == 200
    assert headers["request-id"] == "r1"
    assert not {"Set-Cookie", "Alt-Svc"} & set(headers)
    assert reply["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("encoded", [False, True])
async def test_a_compressed_answer_is_read_and_passed_plain(
    agent: Agent, upstream: Upstream, encoded: bool
) -> None:
    """An upstream may compress though it was asked not to."""

    async def script(http: web.Request, asked: Any) -> web.StreamResponse:
        body = json.dumps(calling('{"x": "forbidden"}')).encode()
        headers = {"Content-Type": "application/json"}
        if encoded:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        return web.Response(body=body, headers=headers)

    upstream.script = script
    status, reply, headers = await agent.post(CHAT, ASK)
    assert (status, "Content-Encoding" in headers) == (200, False)
    assert reply["choices"][0]["message"].get("tool_calls") is None


async def test_a_compressed_request_is_read_too(agent: Agent, upstream: Upstream) -> None:
    upstream.says(SAID)
    async with agent.http.post(
        agent.gateway.url() + CHAT,
        data=gzip.compress(json.dumps(ASK).encode()),
        headers={"Content-Encoding": "gzip"},
    ) as response:
        assert response.status == 200
    _, headers, body = upstream.requests[0]
    assert json.loads(body) == ASK and "Content-Encoding" not in headers


@pytest.mark.parametrize("base", ["/api/v1", "/api/v1/", "/api"])
async def test_the_upstream_may_be_named_with_v1_or_without(
    start: Start, upstream: Upstream, base: str
) -> None:
    agent = await start(upstream=upstream.url + base)
    upstream.says(SAID)
    await agent.post(CHAT, ASK)
    assert upstream.requests[0][0] == f"/api{CHAT}"


async def test_routes_without_a_conversation_pass(agent: Agent, upstream: Upstream) -> None:
    models = {"data": [{"id": "m", "capabilities": {"function_calling": True}, "type": "model"}]}
    upstream.says(models)
    async with agent.http.get(f"{agent.gateway.url()}/v1/models?limit=5") as response:
        assert await response.json() == models
    assert upstream.requests[0][0] == "/v1/models?limit=5"
    upstream.says({"input_tokens": 5})
    _, counted, _ = await agent.post("/v1/messages/count_tokens", ASK)
    assert counted == {"input_tokens": 5}


CALLS = [
    pytest.param(calling('{"x": 1}'), id="chat"),
    pytest.param({"output": [{"type": "function_call", "name": "x"}]}, id="responses"),
    pytest.param({"content": [{"type": "tool_use", "name": "x"}]}, id="messages"),
    pytest.param({"candidates": [{"functionCall": {"name": "x"}}]}, id="another protocol"),
]


@pytest.mark.parametrize("reply", CALLS)
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream"])
@pytest.mark.parametrize(
    "path", ["/v1/responses/r1", "/v1/chat/completions/", "/v1//Messages", "/v1/mess%61ges"]
)
async def test_a_call_on_any_other_route_is_refused(
    agent: Agent, upstream: Upstream, reply: dict[str, Any], kind: str, path: str
) -> None:
    body = sse(reply) if kind == "text/event-stream" else json.dumps(reply).encode()

    async def script(http: web.Request, asked: Any) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Type": kind})

    upstream.script = script
    url = URL(agent.gateway.url() + path, encoded=True)
    async with agent.http.post(url, data=b"{}") as response:
        said = await response.text()
    assert "cannot judge" in said
    assert '"name"' not in said


async def test_errors_of_the_upstream_pass_with_retry_after(
    agent: Agent, upstream: Upstream
) -> None:
    told = {"error": {"message": "slow down", "type": "rate_limit"}}
    upstream.says(told, status=429, headers={"Retry-After": "7", "x-ratelimit-reset": "9"})
    status, reply, headers = await agent.post(CHAT, ASK)
    assert (status, reply) == (429, told)
    assert (headers["Retry-After"], headers["x-ratelimit-reset"]) == ("7", "9")


async def test_a_redirect_is_not_followed_and_not_passed(agent: Agent, upstream: Upstream) -> None:
    upstream.says({}, status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    status, reply, headers = await agent.post(CHAT, ASK)
    assert status == 502 and "redirect" in reply["error"]["message"]
    assert "Location" not in headers and len(upstream.requests) == 1


async def test_more_than_one_choice_is_refused(agent: Agent, upstream: Upstream) -> None:
    status, reply, _ = await agent.post(CHAT, {**ASK, "n": 2})
    assert status == 400 and not upstream.requests
    assert reply["error"]["code"] == "unsupported_parameter"


async def test_a_body_that_is_no_object_is_refused(agent: Agent, upstream: Upstream) -> None:
    status, reply, _ = await agent.post("/v1/messages", [1])
    assert status == 400 and not upstream.requests
    assert reply["error"]["type"] == "invalid_request_error"


async def test_websockets_are_refused(agent: Agent, upstream: Upstream) -> None:
    """Codex tries them first; nothing that runs through one would be judged."""
    url = f"{agent.gateway.url()}/v1/responses"
    headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
    async with agent.http.get(url, headers=headers) as response:
        assert response.status == 426
    assert not upstream.requests


# --- who may ask --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [CHAT, "/s/default/v1/models", "/k/wrong/v1/models", "/k//v1/models", "/k", "/", "//"]
)
async def test_without_the_client_key_nothing_is_served(
    agent: Agent, upstream: Upstream, path: str
) -> None:
    async with agent.http.post(agent.gateway.origin + path, data=b"{}") as response:
        assert response.status == 404
    assert not upstream.requests


async def test_the_session_part_may_be_left_out(agent: Agent, upstream: Upstream) -> None:
    upstream.says(SAID)
    url = f"{agent.gateway.origin}/k/{agent.gateway.client_key}{CHAT}"
    async with agent.http.post(url, json=ASK) as response:
        assert response.status == 200
    assert upstream.requests[0][0] == CHAT


@pytest.mark.parametrize("name", ["..", "a%2fb", "x" * 65, "a b"])
async def test_session_names_are_plain(agent: Agent, upstream: Upstream, name: str) -> None:
    url = URL(agent.gateway.url(name.replace(" ", "%20")) + CHAT, encoded=True)
    async with agent.http.post(url, json=ASK) as response:
        assert response.status in (400, 404)
    assert not upstream.requests


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}],
)
async def test_web_pages_are_turned_away(
    agent: Agent, upstream: Upstream, headers: dict[str, str]
) -> None:
    status, reply, _ = await agent.post(CHAT, ASK, **headers)
    assert status == 403 and not upstream.requests
    assert reply["error"]["code"] == "forbidden_origin"


async def test_another_address_needs_a_real_admin_key(start: Start) -> None:
    """RF19."""
    with pytest.raises(BadInput, match="admin-key"):
        await start(host="0.0.0.0")
    with pytest.raises(BadInput, match="16 characters"):
        await start(host="0.0.0.0", admin_key="admin")


async def test_on_another_address_names_vary_but_web_pages_stay_out(
    start: Start, upstream: Upstream
) -> None:
    agent = await start(host="0.0.0.0", admin_key="k" * 16)
    upstream.says(SAID)
    assert (await agent.post(CHAT, ASK, Host="my-machine:80"))[0] == 200
    assert (await agent.post(CHAT, ASK, Origin="https://evil.example"))[0] == 403


async def test_the_admin_key_opens_the_admin_routes_and_no_other_does(agent: Agent) -> None:
    """RF19."""
    url = f"{agent.gateway.origin}/admin/status"
    for key in ("", agent.gateway.client_key):
        async with agent.http.get(url, headers={"Authorization": f"Bearer {key}"}) as response:
            assert response.status == 401
    admin = {"Authorization": f"Bearer {agent.gateway.admin_key}"}
    async with agent.http.get(url, headers=admin) as response:
        assert (await response.json())["calls_allowed"] == 0


def test_an_upstream_with_credentials_in_its_url_is_refused() -> None:
    from harness_adapters.gateway.interactive.forward import Forward

    for url in ("https://user:secret@host", "ftp://host", "host:80", "https://host?key=1"):
        with pytest.raises(BadInput):
            Forward(url, silence=1)


async def test_nothing_is_written_unless_asked(
    agent: Agent, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.says(calling('{"x": "forbidden"}', '{"x": "odd"}'))
    await agent.post(CHAT, {**ASK, "tools": []}, Authorization="Bearer secret")
    assert list(tmp_path.iterdir()) == []


async def test_the_log_is_redacted(start: Start, upstream: Upstream, tmp_path: Path) -> None:
    log = tmp_path / "verdicts.log"
    agent = await start(log=log)
    upstream.says(calling('{"x": "forbidden", "token": "hunter2"}'))
    await agent.post(CHAT, ASK, Authorization="Bearer secret")
    (row,) = map(json.loads, log.read_text().splitlines())
    assert row["rules"] == ["words.forbidden"] and row["spans"] == [[7, 16]]
    assert row["outcome"] == "blocked" and row["policy"]
    assert "hunter2" not in str(row) and "secret" not in str(row)
    assert log.stat().st_mode & 0o077 == 0
