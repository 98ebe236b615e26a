"""What a browser finds on a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

SMALLEST_TEXT: Final = 11.5
"""Pixels; text below it is not read on a phone."""

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
"""The colours that a reader may prefer."""

WIDTHS: Final = {"phone": (375, 812), "desk": (1366, 900)}
"""Width and height of what a page is read on, in pixels."""

_SETTLED: Final = """
document.fonts.ready.then(() => new Promise(done => {
  const patience = performance.now() + 2000;
  const isSettled = () => document.scrollingElement.scrollWidth <= document.documentElement.clientWidth;
  const look = () => isSettled() || performance.now() > patience ? done() : setTimeout(look, 50);
  setTimeout(look, 100);
}))
"""
"""The theme's scripts put wide tables into boxes of their own a moment after a page is there, or is resized: on a busy
machine a long moment. A page that still scrolls sideways after two seconds always does."""

_LOOK: Final = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Visit:
    """One page, seen at every width.

    Attributes:
        address: Where the page is.
        links: The addresses to which it links.
        anchors: The ids of its elements.
        faults: What is wrong with it, one sentence each.
    """

    address: str
    links: frozenset[str]
    anchors: frozenset[str]
    faults: tuple[str, ...]


def visit(context: BrowserContext, address: str, site: str, pictures: Path | None = None) -> Visit:
    """Open a page and look at it at each width.

    Args:
        context: The browser.
        address: The page.
        site: The beginning of every address that a page may ask for.
        pictures: How the files with its pictures begin; without it none are taken.
    """
    faults: list[str] = []
    page = context.new_page()
    _listen(page, site, faults)
    page.goto(address, wait_until="load")
    page.evaluate(_SETTLED)
    looks = [_look_at(page, width, pictures) for width in WIDTHS]
    page.close()
    faults += [fault for look in looks for fault in look.faults]
    return Visit(address, looks[0].links, looks[0].anchors, tuple(faults))


@dataclass(frozen=True, slots=True)
class _Look:
    links: frozenset[str]
    anchors: frozenset[str]
    faults: list[str]


def _look_at(page: Page, width: str, pictures: Path | None) -> _Look:
    x, y = WIDTHS[width]
    page.set_viewport_size({"width": x, "height": y})
    page.evaluate(_SETTLED)
    found = page.evaluate(_LOOK.replace("SMALLEST", str(SMALLEST_TEXT)))
    if pictures is not None:
        page.screenshot(path=f"{pictures}-{width}.png")
    faults = [f"{fault} ({width})" for fault in _faults_of(found)]
    return _Look(frozenset(found["links"]), frozenset(found["anchors"]), faults)


def _listen(page: Page, site: str, faults: list[str]) -> None:
    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.append(f"the console says: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith((site, "data:", "blob:")):
            faults.append(f"asks another host: {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            faults.append(f"got {response.status} for {response.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(f"a script failed: {error}"))
    page.on("request", on_request)
    page.on("requestfailed", lambda request: faults.append(f"could not load {request.url}"))
    page.on("response", on_response)


def _faults_of(found: dict[str, list[str]]) -> list[str]:
    faults = ["the page scrolls sideways"] if found["scrolls"] else []
    faults += [f"wider than the page: {text!r}" for text in found["wide"][:5]]
    faults += [f"text too small to read: {text}" for text in found["small"][:5]]
    faults += [f"an image does not load: {source}" for source in found["broken"]]
    return faults + [f"an image says nothing to who cannot see it: {source}" for source in found["nameless"]]
