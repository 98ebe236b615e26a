"""The kinds of things that a new package can start with, and the parts of the template that belong to each."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from muntin_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class OfferKind:
    """A kind of thing that a package offers, with one example in the template.

    Attributes:
        name: Name, as `--kind` takes it.
        description: Result of such a thing, in a few words.
        example: Last part of the example's name, which is also the name of its file.
        usage: File of the template that shows how a query uses the example.
        is_named: True if queries find it by its name, and False if programs import it.
    """

    name: str
    description: str
    example: str
    usage: str
    is_named: bool = True

    @property
    def is_module(self) -> bool:
        """True for an aggregate or an operator."""
        return self.usage in ("aggregate", "operator")


KINDS: Final = (
    OfferKind("aggregate", "one value per window, from its payloads", "spread", "aggregate"),
    OfferKind("incremental", "one value per window, updated as payloads come and go", "mean", "aggregate"),
    OfferKind("operator", "any number of rows per window, from its payloads", "gaps", "operator"),
    OfferKind("function", "one value per row, from its columns", "fahrenheit", "function"),
    OfferKind("incremental-operator", "rows per window, updated as payloads come and go", "frequencies", "operator"),
    OfferKind("timed-aggregate", "one value per window, from events with their lifetimes", "covered", "aggregate"),
    OfferKind("timed-incremental", "one value per window, updated as events come", "average_over_time", "aggregate"),
    OfferKind("timed-operator", "rows with lifetimes of their own, from events", "long_events", "operator"),
    OfferKind("timed-incremental-operator", "rows, updated as events come", "latest", "operator"),
    OfferKind("window", "a kind of windows", "visits", "window"),
    OfferKind("sink", "a place that results are written to", "json_folder", "sink", is_named=False),
    OfferKind("policy", "a rule that says how complete an input is", "confirmed", "policy", is_named=False),
)
"""All kinds, in the order in which `muntin new` asks for them."""

DEFAULT_KIND: Final = KINDS[0]

_MARK: Final = re.compile(r" ?(?:#|--|<!--) only: (?P<groups>[a-z -]+?)(?: -->)?$")
"""The end of a line of the template that belongs to some kinds alone."""

_PARTS_OF_KINDS: Final = (
    ("src/muntin_myplugin/plugin.py", ("named",)),
    ("tests/test_plugin.py", ("named",)),
    ("tests/test_query.py", ("aggregate",)),
    ("backtests/", ("aggregate", "incremental")),
    (".github/workflows/backtest.yml", ("aggregate", "incremental")),
    ("usage/", ()),
)
"""Beginnings of paths in the template, each with the groups that they belong to; no package has those of no group."""


def kinds_named(names: Collection[str]) -> list[OfferKind]:
    """Return the kinds with the names, in the order of `KINDS`.

    Raises:
        UsageError: No kind has one of the names.
    """
    known = [kind.name for kind in KINDS]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no kind {name!r}\n  expected: {', '.join(known)}")
    return [kind for kind in KINDS if kind.name in names]


def groups_of(kinds: Sequence[OfferKind]) -> set[str]:
    """Return the words by which the template marks what belongs to kinds: their names, `modules` and `named`."""
    groups = {kind.name for kind in kinds}
    if any(kind.is_module for kind in kinds):
        groups.add("modules")
    if any(kind.is_named for kind in kinds):
        groups.add("named")
    return groups


def is_wanted(path: str, kinds: Sequence[OfferKind]) -> bool:
    """Return whether a package with some kinds has a file of the template.

    Args:
        path: Path of the file in the template.
        kinds: The kinds.

    Example:
        >>> [is_wanted(f"tests/test_{stem}.py", kinds_named({"operator"})) for stem in ("gaps", "mean", "plugin")]
        [True, False, True]
    """
    groups = groups_of(kinds)
    for beginning, wanted_by in _PARTS_OF_KINDS:
        if path.startswith(beginning):
            return not groups.isdisjoint(wanted_by)
    stem = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_")
    for kind in KINDS:
        if kind.example == stem:
            return kind in kinds
    return True


def text_for(text: str, kinds: Sequence[OfferKind]) -> str:
    r"""Return the text of a file of the template, with the lines that belong to the kinds.

    Where lines between two blank ones go, the blank ones below them go too.

    Args:
        text: Text of the file.
        kinds: The kinds.

    Example:
        >>> text_for("a\nb # only: sink\nc # only: function window\n", kinds_named({"window"}))
        'a\nc\n'
    """
    groups = groups_of(kinds)
    lines: list[str] = []
    # True where lines below a blank one were left out: the next blank line would be one too many.
    skips_blank_lines = False
    for line in text.splitlines():
        mark = _MARK.search(line)
        if mark is not None and groups.isdisjoint(mark["groups"].split()):
            skips_blank_lines = bool(lines) and not lines[-1]
        elif line or not skips_blank_lines:
            skips_blank_lines = False
            lines.append(line if mark is None else line[: mark.start()].rstrip())
    joined = "\n".join(lines).rstrip()
    return f"{joined}\n" if joined else ""
