"""The results of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Result(StrEnum):
    """The result for one item that was checked."""

    OK = "ok"
    """It is as it should be."""
    NOTE = "note"
    """It could not be judged, and the text says what to do to have it judged."""
    FINDING = "finding"
    """It is wrong."""
    TO_DO = "to do"
    """It is missing for a release, and only for that."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was looked at.

    Attributes:
        result: Result of looking at it.
        text: Sentence about it, with a remedy if it is a finding.
    """

    result: Result
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """The results of one check.

    Attributes:
        title: The check.
        items: At least one.
    """

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all checks of a package.

    Attributes:
        package: Name and version.
        sections: Results, check by check.
        badge: Line of Markdown for the README; empty if there is none to show.
    """

    package: str
    sections: tuple[Section, ...]
    badge: str = ""

    @property
    def findings(self) -> int:
        """The number of items that are wrong."""
        return self._count(Result.FINDING)

    @property
    def tasks(self) -> int:
        """The number of things to do before a release."""
        return self._count(Result.TO_DO)

    def _count(self, result: Result) -> int:
        """Return the number of items with a result, over all sections."""
        count = 0
        for section in self.sections:
            count += sum(item.result is result for item in section.items)
        return count


def ok(text: str) -> Item:
    """Return an item that is as it should be."""
    return Item(Result.OK, text)


def note(text: str) -> Item:
    """Return an item that could not be judged."""
    return Item(Result.NOTE, text)


def to_do(text: str) -> Item:
    """Return an item that a release needs."""
    return Item(Result.TO_DO, text)


def finding(text: str) -> Item:
    """Return an item that is wrong."""
    return Item(Result.FINDING, text)
