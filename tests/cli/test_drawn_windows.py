"""The docstring of each window, which an editor shows on hovering, has the drawing of `muntin describe`."""

from __future__ import annotations

import re
from inspect import getdoc
from runpy import run_path
from typing import Any

import pytest

from docs.pictures.album import TEMPLATE
from muntin.rows import batch, between, last
from muntin_cli.windows import draw_kind, own_windows

WITHOUT_DRAWING = {
    "calendar",  # days are no ticks
    "between",  # its conditions read the payload
}
DRAWING = re.compile(
    r"Three events, and the windows that `(?P<call>.+)` makes of them, with the number of members:\n"
    r"\n```text\n(?P<text>[^`]+)\n```"
)


def functions_of_windows() -> list[Any]:
    """Return Muntin's own functions that make windows, and the kind that a new plugin starts with."""
    windows: list[Any] = []
    for function in (*own_windows().values(), last, batch, between):
        if function.__name__ not in WITHOUT_DRAWING:
            windows.append(function)
    windows.append(run_path(str(TEMPLATE), run_name="visits")["Visits"])
    return windows


@pytest.mark.parametrize("window", functions_of_windows(), ids=lambda window: window.__name__)
def test_a_docstring_has_the_drawing_that_the_command_makes(window: Any) -> None:
    drawing = DRAWING.search(getdoc(window) or "")
    assert drawing is not None
    kind = eval(drawing["call"], {window.__name__: window})
    assert drawing["text"] == draw_kind(kind)
