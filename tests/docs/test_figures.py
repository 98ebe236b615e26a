"""Figures on the first pages: each is one of the page with the measurements, which says by what command they came."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT

MEASURED = (DOCS / "explanation/performance.md").read_text(encoding="utf-8").partition("## Against Spark and others")[2]
FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+\.\d+(?= times)")


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=lambda page: page.name)
def test_a_figure_on_a_first_page_was_measured(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    figures = FIGURE.findall(text)

    assert len(figures) >= 2
    assert "make bench" in text
    assert "\nmake bench\n" in MEASURED
    assert [figure for figure in figures if figure not in MEASURED] == []
