"""The lines of a Markdown page: those of prose, and those that open a fenced block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["prose", "opening", "inside"]

_FENCE: Final = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^`]*)$")


def lines_of(text: str) -> Iterator[tuple[Kind, str]]:
    r"""Yield each line and what it is; the line that closes a block is inside.

    Example:
        >>> [kind for kind, line in lines_of("See:\n```python\nx = 1\n```\nDone.")]
        ['prose', 'opening', 'inside', 'inside', 'prose']
    """
    opened = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if not opened:
            opened = fence["ticks"] if fence else ""
            yield ("opening" if fence else "prose"), line
        else:
            if fence and fence["ticks"] == opened and not fence["info"].strip():
                opened = ""
            yield "inside", line
