"""The page of a recording as a browser shows it: what is drawn, where it is, and how fast it moves."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES: Final = Path(os.environ.get("PICTURES") or "build/recording-pictures")
DESK: Final = (1366, 860)
PHONE: Final = (375, 812)
"""The width and height of a screen, in pixels."""

Open = Callable[..., "Page"]
"""Opens the page of a story."""


class Counts(NamedTuple):
    """How many changes of results and rows have come at the position of a page."""

    changes: int
    rows: int


def settle(page: Page) -> None:
    """Wait until the page is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def select(page: Page, kind: Literal["row", "change"], number: int) -> None:
    """Select a row or a change of the results, and bring it into sight."""
    page.evaluate("([kind, number]) => muntin.select({ kind, number }, true)", [kind, number])
    settle(page)


def heading(page: Page) -> str:
    """Return the heading above the details of the selected row or result: `Row 3`, `Result 8`."""
    return page.inner_text("#details h2")


def numbers_in(page: Page, part: str, kind: Literal["row", "change"]) -> list[int]:
    """Return the numbers of the rows or the changes that a part of the page leads to, in order.

    Args:
        page: The page.
        part: The part, as a selector of CSS.
        kind: Kind of the numbers.
    """
    numbers: list[int] = page.eval_on_selector_all(
        f"{part} [data-{kind}]", "(elements, kind) => elements.map(each => Number(each.dataset[kind]))", kind
    )
    return numbers


def place_of(page: Page, kind: Literal["row", "change"], number: int) -> dict[str, float]:
    """Return where on the page the mark of a row or a result is, as `x` and `y`."""
    settle(page)
    # A hit of the drawing is [x0, y0, x1, y1, kind, number, count]; a point has 5 pixels to the right of its start.
    place = page.evaluate(
        """([kind, number]) => {
            const hit = muntin.drawing.hits.findLast(each => each[4] === kind && each[5] === number);
            const box = muntin.drawing.canvas.getBoundingClientRect();
            return hit && { x: box.x + Math.max(hit[0], muntin.drawing.left) + 5, y: box.y + (hit[1] + hit[3]) / 2 };
        }""",
        [kind, number],
    )
    assert place, f"{kind} {number} is not in the picture"
    return dict(place)


def click_mark(page: Page, kind: Literal["row", "change"], number: int) -> None:
    """Click the mark of a row or a result in the picture."""
    place = place_of(page, kind, number)
    page.mouse.click(place["x"], place["y"])


def drawn(page: Page, kind: Literal["row", "change"]) -> set[int]:
    """Return the numbers of the rows or results that have a mark in the picture."""
    settle(page)
    return set(page.evaluate("kind => muntin.drawing.hits.filter(each => each[4] === kind).map(each => each[5])", kind))


def counts(page: Page) -> Counts:
    """Return how many changes and rows have come, as the page says; it groups digits, as in `1,045`."""
    changes = page.inner_text("#count-changes")
    rows = page.inner_text("#count-rows")
    return Counts(int(changes.replace(",", "")), int(rows.replace(",", "")))


def picture(page: Page, name: str) -> None:
    """Write a picture of the page, for the documentation or for those who look at it."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    settle(page)
    page.screenshot(path=PICTURES / f"{name}.png")


class Frames(NamedTuple):
    """How long the frames of a moving picture took, in milliseconds."""

    median: float
    longest: float


def frames(page: Page, move: str) -> Frames:
    """Measure the frames while the picture moves a hundred times; endless if it was not drawn again for each move.

    Args:
        page: The page.
        move: A function of JavaScript that moves the picture, which is called with 0, 1, ... 99.
    """
    times: list[float] | None = page.evaluate(
        f"""new Promise(done => {{
            const move = {move}, times = [];
            const drawnBefore = muntin.drawing.frames;
            let i = 0, last = performance.now();
            const next = now => {{
                times.push(now - last);
                last = now;
                if (i === 100) {{
                    const drawn = muntin.drawing.frames - drawnBefore;
                    return done(drawn < 95 ? null : times.slice(3));  // the first ones are of the start
                }}
                move(i++);
                requestAnimationFrame(next);
            }};
            requestAnimationFrame(next);
        }})"""
    )
    if times is None:
        return Frames(math.inf, math.inf)
    return Frames(round(statistics.median(times), 1), round(max(times), 1))
