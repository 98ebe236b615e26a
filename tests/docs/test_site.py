"""The site builds without a warning, and pages load nothing from another host, but Mermaid where one has a diagram."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.build_pages import address_of, write_pages
from tests.docs.pages import DOCS, NOTEBOOKS, ROOT, name_of

pytestmark = pytest.mark.nightly

_LOADED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']?(?P<address>[^"'\s>]+)""")
_NOT_LOADED = re.compile(r"""<link\b[^>]*\brel=["']?(?:canonical|next|prev)\b[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built without a warning."""
    build = tmp_path_factory.mktemp("build")
    write_pages(build)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", f"{build}/mkdocs.yml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build / "site"


def test_every_page_is_built(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        path = page.relative_to(DOCS).with_suffix(".html").as_posix().replace("README.html", "index.html")
        assert (site / path).is_file(), path


def test_a_notebook_is_a_page_with_its_pictures(site: Path) -> None:
    for notebook in NOTEBOOKS:
        page = (site / address_of(name_of(notebook))).with_suffix(".html").read_text(encoding="utf-8")
        pictures = notebook.read_text(encoding="utf-8").count('"image/svg+xml"')
        assert pictures > 0, notebook.name
        assert page.count('src="data:image/svg+xml;base64,') == pictures, notebook.name


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded: list[tuple[Path, str]] = []
    for page in site.rglob("*.html"):
        text = _NOT_LOADED.sub("", page.read_text(encoding="utf-8"))
        loaded += [(page, match["address"]) for match in _LOADED.finditer(text)]
    assert len(loaded) > 100
    for page, address in loaded:
        assert not re.match(r"(?:https?:)?//", address), page.name


def test_a_picture_has_a_text_for_readers_who_cannot_see_it(site: Path) -> None:
    pictures: list[tuple[str, str]] = []
    for page in site.rglob("*.html"):
        content = _content(page.read_text(encoding="utf-8"))
        pictures += [(page.name, picture) for picture in re.findall(r"<img\b[^>]*>", content)]
    assert len(pictures) > 20
    for page_name, picture in pictures:
        assert re.search(r"""\balt=["']?[^"'\s>]""", picture), page_name


def test_files_outside_of_the_pages_are_shown_too(site: Path) -> None:
    assert "You need Python 3.11 or newer" in (site / "repository/contributing.html").read_text(encoding="utf-8")
    assert "class StateLog" in _text(site / "repository/engine/src/muntin_engine/state/log.py.html")


def test_a_signature_has_types_that_lead_to_their_names(site: Path) -> None:
    page = (site / "reference/windows.html").read_text(encoding="utf-8")
    hopping = page[page.index('id="muntin.windows.hopping.hopping"') :]
    signature = hopping[: hopping.index("</pre>")]
    assert "Duration" in _plain(signature)
    assert 'href="#muntin.windows.HoppingWindows"' in signature


def test_a_query_has_its_outputs_on_its_page_whichever_class_has_them(site: Path) -> None:
    page = (site / "reference/query.html").read_text(encoding="utf-8")
    members = set(re.findall(r'id="muntin_engine\.Query\.(\w+)"', page))
    assert {"as_events", "results", "late_rows", "rejected_rows", "write", "check", "explain", "named"} <= members


def test_an_example_in_a_docstring_is_a_block_of_code(site: Path) -> None:
    page = (site / "reference/windows.html").read_text(encoding="utf-8")
    blocks = [_plain(block) for block in re.findall(r"<pre>.*?</pre>", page, re.DOTALL)]
    assert any("&gt;&gt;&gt; tumbling(60) == hopping(60, 60)" in block for block in blocks)


def test_what_a_docstring_says_under_a_label_is_a_paragraph(site: Path) -> None:
    page = (site / "reference/stats.html").read_text(encoding="utf-8")
    quantile = page[page.index('id="muntin_stats.Quantile"') : page.index('id="muntin_stats.Ranked"')]
    assert "<strong>Types:</strong> float, int or Decimal to float. Between" in quantile
    assert "<strong>Source:</strong> R. J. Hyndman" in quantile
    assert "admonition" not in quantile
    assert 'id="muntin_stats.Quantile.create_state"' not in quantile


def test_the_numbers_of_our_own_rules_stay_out_of_the_reference(site: Path) -> None:
    pages = list((site / "reference").glob("*.html"))
    assert pages
    for page in pages:
        assert not re.search(r"\b(?:SI|TH|IB|ON|JT)-\d", _text(page)), page.name


def test_sources_are_not_among_what_the_search_finds(site: Path) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    searched_pages = {entry["location"].partition("#")[0] for entry in index["items"]}
    assert searched_pages
    for page in searched_pages:
        assert not page.startswith("repository/")
    for file in DOCS.rglob("*.md"):
        if file.name not in ("README.md", "index.md"):
            assert file.relative_to(DOCS).with_suffix(".html").as_posix() in searched_pages


def _text(page: Path) -> str:
    """Return the text of a page, without its elements."""
    return _plain(page.read_text(encoding="utf-8"))


def _content(html: str) -> str:
    """Return a page without what the theme puts around it, such as the logo."""
    return html[html.index("<article") : html.index("</article>")] if "<article" in html else ""


def _plain(html: str) -> str:
    """Return a piece of HTML without its elements."""
    return re.sub(r"<[^>]*>", "", html)
