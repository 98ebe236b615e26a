"""The page of a recording as a browser shows it: what is drawn, where it is, and how fast it moves."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES: Final = Path(os.environ.get("PICTURES") or "build/recording-pictures")
DESK: Final = (1366, 860)
PHONE: Final = (375, 812)

Open = Callable[..., "Page"]


def settle(page: Page) -> None:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def place_of(page: Page, kind: str, number: int) -> dict[str, float]:
    """Return where on the page the mark of a row or a result is."""
    settle(page)
    answer = page.evaluate(
        """([kind, number]) => {
            const hit = muntin.drawing.hits.findLast(each => each[4] === kind && each[5] === number);
            const box = muntin.drawing.canvas.getBoundingClientRect();
            return hit && { x: box.x + Math.max(hit[0], muntin.drawing.left) + 5, y: box.y + (hit[1] + hit[3]) / 2 };
        }""",
        [kind, number],
    )
    assert answer, f"{kind} {number} is not in the picture"
    return dict(answer)


def drawn(page: Page, kind: str) -> set[int]:
    settle(page)
    return set(page.evaluate("kind => muntin.drawing.hits.filter(each => each[4] === kind).map(each => each[5])", kind))


def counts(page: Page) -> tuple[str, str]:
    return page.inner_text("#count-changes"), page.inner_text("#count-rows")


def picture(page: Page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    settle(page)
    page.screenshot(path=PICTURES / f"{name}.png")


def frames(page: Page, move: str) -> tuple[float, float]:
    """Return the milliseconds from frame to frame while the picture moves a hundred times: the median and the most."""
    times = page.evaluate(
        f"""new Promise(done => {{
            const move = {move}, times = [];
            const before = muntin.drawing.frames;
            let i = 0, last = performance.now();
            const next = now => {{
                times.push(now - last);
                last = now;
                if (i === 100) return done(muntin.drawing.frames - before < 95 ? [Infinity] : times.slice(3));
                move(i++);
                requestAnimationFrame(next);
            }};
            requestAnimationFrame(next);
        }})"""
    )
    return round(statistics.median(times), 1), round(max(times), 1)
