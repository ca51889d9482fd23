from __future__ import annotations

import asyncio

from harness_adapters.gateway.pace import AT_ONCE, Pace


async def test_without_a_crowd_nobody_waits() -> None:
    pace = Pace()
    for _ in range(3):
        waiting = asyncio.ensure_future(pace.turn())
        await asyncio.sleep(0)
        assert waiting.done()


async def test_a_crowd_is_let_in_a_few_at_a_time_in_order() -> None:
    pace, begun, most = Pace(), [], 0

    async def work(number: int) -> None:
        await pace.turn()
        begun.append(number)

    crowd = [asyncio.ensure_future(work(number)) for number in range(10 * AT_ONCE)]
    while len(begun) < len(crowd):
        before = len(begun)
        await asyncio.sleep(0)
        most = max(most, len(begun) - before)
    assert begun == list(range(len(crowd)))
    assert most <= AT_ONCE


async def test_one_that_leaves_the_queue_holds_up_nobody() -> None:
    pace, begun = Pace(), []

    async def work(number: int) -> None:
        await pace.turn()
        begun.append(number)

    crowd = [asyncio.ensure_future(work(number)) for number in range(4 * AT_ONCE)]
    await asyncio.sleep(0)
    for task in crowd[AT_ONCE::2]:
        task.cancel()
    await asyncio.wait(crowd, timeout=5)
    assert begun == [n for n, task in enumerate(crowd) if not task.cancelled()]
    assert len(begun) > 2 * AT_ONCE
