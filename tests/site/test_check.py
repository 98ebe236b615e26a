"""The check in a browser, as far as it needs none."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from docs.website.check.browser import BrowserNotFoundError, find_browser
from docs.website.check.dead_links import dead_links
from docs.website.check.server import served
from docs.website.check.visit import Visit

HERE = "http://127.0.0.1:1/"


def page(name: str, *links: str, anchors: frozenset[str] = frozenset()) -> Visit:
    return Visit(HERE + name, frozenset(links), anchors, ())


def test_a_link_to_a_page_and_to_a_place_on_it_is_alive() -> None:
    pages = [
        page("index.html", HERE, HERE + "a.html", HERE + "a.html#here", "https://example.org/"),
        page("a.html", anchors=frozenset({"here"})),
    ]
    assert list(dead_links(pages, HERE)) == []


def test_a_link_to_a_place_that_is_not_on_the_page_is_dead() -> None:
    pages = [page("a.html", HERE + "b.html#there"), page("b.html", anchors=frozenset({"here"}))]
    assert list(dead_links(pages, HERE)) == ["a.html: links to b.html#there, where there is no such place"]


def test_the_site_is_served_on_this_machine_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>here</title>", encoding="utf-8")
    with served(tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")
        assert b"here" in urlopen(address).read()
        with pytest.raises(HTTPError) as missing:
            urlopen(address + "nothing.html")
        missing.value.close()


def test_without_a_browser_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(BrowserNotFoundError, match="no-such-browser"):
        find_browser()
