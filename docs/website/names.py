"""Pages of names: a list of links to sources on a code host, the names' docstrings on the site.

A line ``- [`muntin.ticks`](../../../sdk/src/muntin/axis.py)`` asks mkdocstrings for the docstring of the name, and
one that names a command, such as ``- [`muntin new`](...)``, for what the command says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from docs.website.command_line import describe_command

_WITH_INHERITED: Final = frozenset({"muntin_engine.Query"})
"""Classes whose members are, in part, those of a class that has no page."""

_ENTRY: Final = re.compile(r"^- \[`(?P<name>[\w. ]+)`\]\((?P<source>\S+\.py)\)$")


@dataclass(frozen=True, slots=True)
class Entry:
    """A name on a page, and the link to the file that defines it."""

    name: str
    source: str

    @property
    def identifier(self) -> str:
        """The name for mkdocstrings, which would take `muntin.triggers.after` for the module of that name.

        Example:
            >>> Entry("muntin.triggers.after", "../../../sdk/src/muntin/triggers/after.py").identifier
            'muntin.triggers.after.after'
            >>> Entry("muntin.ticks", "../../../sdk/src/muntin/axis.py").identifier
            'muntin.ticks'
        """
        _, _, module = self.source.removesuffix(".py").rpartition("/src/")
        last = self.name.rpartition(".")[2]
        return f"{module.replace('/', '.')}.{last}" if module.endswith(f"/{last}") else self.name

    @property
    def is_command(self) -> bool:
        """True if it is a command of the command line, not a name of Python."""
        return " " in self.name


def entries_of(text: str) -> Iterator[Entry]:
    r"""Yield the names that a page is to show.

    Example:
        >>> [entry.name for entry in entries_of("- [`muntin.ticks`](../axis.py)\n- [Glossary](glossary.md)")]
        ['muntin.ticks']
    """
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            yield Entry(entry["name"], entry["source"])


def with_docstrings(text: str) -> str:
    """Return a page's Markdown with its names replaced by what is said of them."""
    lines: list[str] = []
    for line in text.splitlines():
        found = list(entries_of(line))
        lines += [_shown(found[0]), ""] if found else [line]
    return "\n".join(lines)


def _shown(entry: Entry) -> str:
    if entry.is_command:
        return describe_command(entry.name)
    options = "\n    options:\n      inherited_members: true" if entry.name in _WITH_INHERITED else ""
    return f"::: {entry.identifier}{options}"
