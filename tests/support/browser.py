"""A headless Chromium, driven over its own protocol: what a page logs, asks for and looks like."""

from __future__ import annotations

import asyncio
import base64
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)


class Page:
    """One tab. ``logged`` holds console messages and errors, ``requested`` every URL asked for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.logged: list[str] = []
        self.requested: list[str] = []

    async def listen(self) -> None:
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._answers.pop(event["id"]).set_result(event)
                continue
            method, params = event["method"], event["params"]
            if method == "Page.loadEventFired":
                self._loaded.set()
            elif method == "Network.requestWillBeSent":
                self.requested.append(params["request"]["url"])
            elif method == "Log.entryAdded":
                self.logged.append(params["entry"]["text"])
            elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.logged.append(str(params))

    async def ask(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._socket.send_json({"id": number, "method": method, "params": params})
        content = await answer
        assert "error" not in content, content
        return content["result"]

    async def open(self, path: Path, *, scheme: str) -> None:
        """:param scheme: ``light`` or ``dark``, what the reader prefers."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.ask(f"{domain}.enable")
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.ask("Emulation.setEmulatedMedia", features=[feature])
        self._loaded.clear()
        await self.ask("Page.navigate", url=path.as_uri())
        await self._loaded.wait()

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to."""
        result = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def screenshot(self, path: Path) -> None:
        shot = await self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def chromium(profile: Path) -> AsyncGenerator[Page]:
    """A fresh browser with one tab; it is gone when the context ends."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
        *("--window-size=1200,1600", f"--user-data-dir={profile}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(60):
            while b"DevTools listening on" not in (line := await process.stderr.readline()):
                assert line, "the browser did not start"
        port = line.decode().split("127.0.0.1:")[1].split("/")[0]
        async with aiohttp.ClientSession() as http:
            async with http.get(f"http://127.0.0.1:{port}/json/list") as response:
                tabs = await response.json()
            url = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with http.ws_connect(url, max_msg_size=0) as socket:
                page = Page(socket)
                listening = asyncio.create_task(page.listen())
                try:
                    yield page
                finally:
                    listening.cancel()
                    with suppress(asyncio.CancelledError):
                        await listening
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
