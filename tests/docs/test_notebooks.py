"""Notebooks run, and what they show is what their cells give; `make pages` writes it anew, in Jupyter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.notebooks import file_of, outputs_in, read, run
from tests.docs.pages import NOTEBOOKS, name_of
from tests.docs.runner import needs_spark, open_page


def test_the_notebooks_are_these_four() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first-module", "first-query", "join", "late-data"]


@pytest.mark.cases(2)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_the_cells_of_a_notebook_give_what_it_shows(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    notebook = read(path)
    session = request.getfixturevalue("spark") if needs_spark(path) else None
    with open_page(path, tmp_path, session) as running_page:
        outputs = run(notebook, running_page.namespace)
    assert outputs == outputs_in(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_has_nothing_of_who_ran_it(path: Path) -> None:
    notebook = read(path)
    assert path.read_text(encoding="utf-8") == file_of(notebook, outputs_in(notebook)), "make pages"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_has_a_time_line(path: Path) -> None:
    outputs = outputs_in(read(path))
    pictures = [output["image/svg+xml"] for output in outputs if "image/svg+xml" in output]
    assert pictures
    assert all(picture.startswith("<svg") for picture in pictures)
