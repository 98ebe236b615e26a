"""A broken law, and how it is told."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from muntin.errors import ModuleError


class LawError(ModuleError, AssertionError):
    """A module does not keep a law of its base class; the module writer must act.

    Attributes:
        law: The law's name, for example `"order does not matter"`.
        module: The module's name and version.
        stream: The smallest stream found that shows it, as a time line; empty if no stream is needed.
        method: The method that raised, or `call` for a function; empty if none did.
    """

    def __init__(self, law: str, statement: str, module: str, facts: str, stream: str, remedy: str) -> None:
        self.law = law
        self.module = module
        self.stream = stream
        self.method = ""
        lines = [f"{module} breaks the law: {law}", statement, facts]
        lines += ["smallest stream:", _indented(stream)] if stream else []
        super().__init__("\n".join([lines[0], *(_indented(line) for line in [*lines[1:], f"to do: {remedy}"])]))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


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
