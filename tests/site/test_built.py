"""The site builds without a warning, and a browser that opens a page of it asks no other host for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

_LOADED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']?(?P<address>[^"'\s>]+)""")
_NOT_LOADED = re.compile(r"""<link\b[^>]*\brel=["']?(?:canonical|next|prev)\b[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        built = page.relative_to(DOCS).with_suffix(".html").as_posix().replace("README.html", "index.html")
        assert (site / built).is_file(), built


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = [
        (page, found["address"])
        for page in site.rglob("*.html")
        for found in _LOADED.finditer(_NOT_LOADED.sub("", page.read_text(encoding="utf-8")))
    ]
    assert len(loaded) > 100
    assert [(page.name, address) for page, address in loaded if re.match(r"(?:https?:)?//", address)] == []


def test_files_outside_of_the_pages_are_shown_too(site: Path) -> None:
    assert "Muntin lets you write" in (site / "repository/readme.html").read_text(encoding="utf-8")
    assert "class Distributor" in _text(site / "repository/engine/src/muntin_engine/spark/distribute.py.html")


def test_a_signature_has_types_that_lead_to_their_names(site: Path) -> None:
    page = (site / "reference/api/windows.html").read_text(encoding="utf-8")
    hopping = page[page.index('id="muntin.hopping"') :]
    signature = hopping[: hopping.index("</pre>")]
    assert "Duration" in _plain(signature)
    assert 'href="#muntin.HoppingWindows"' in signature


def test_an_example_in_a_docstring_is_a_block_of_code(site: Path) -> None:
    page = (site / "reference/api/windows.html").read_text(encoding="utf-8")
    blocks = [_plain(block) for block in re.findall(r"<pre>.*?</pre>", page, re.DOTALL)]
    assert any("&gt;&gt;&gt; tumbling(60) == hopping(60, 60)" in block for block in blocks)


def test_the_numbers_of_our_own_rules_stay_out_of_the_reference(site: Path) -> None:
    pages = list((site / "reference/api").glob("*.html"))
    assert pages
    for page in pages:
        assert not re.search(r"\b(?:SI|TH|IB|ON|JT)-\d", _text(page)), page.name


def _text(page: Path) -> str:
    return _plain(page.read_text(encoding="utf-8"))


def _plain(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)
