"""Values of hundreds of members in a report of a few lines."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

_LONGEST: Final = 160
_BEFORE: Final = 20


def shortened(line: str, longest: int = _LONGEST) -> str:
    """Return a line, cut if it is long.

    Example:
        >>> shortened("abcdefgh", 4)
        'abcd... (8 characters)'
    """
    return line if len(line) <= longest else f"{line[:longest]}... ({len(line)} characters)"


def told_apart(left: tuple[str, object], right: tuple[str, object]) -> list[tuple[str, str]]:
    """Return two values in words, each with its description; of long ones the part in which they begin to differ."""
    (first, one), (second, other) = (left[0], repr(left[1])), (right[0], repr(right[1]))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    skipped = max(0, same - _BEFORE) if max(len(one), len(other)) > _LONGEST else 0
    return [(first, _from(skipped, one)), (second, _from(skipped, other))]


def _from(start: int, text: str) -> str:
    return shortened(f"...{text[start:]}" if start else text, _LONGEST // 2 if start else _LONGEST)
