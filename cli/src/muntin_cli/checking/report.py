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
    """The results of all checks of a package."""

    package: str
    sections: tuple[Section, ...]

    @property
    def findings(self) -> int:
        """The number of items that are wrong."""
        count = 0
        for section in self.sections:
            count += sum(item.result is Result.FINDING for item in section.items)
        return count


def ok(text: str) -> Item:
    """Return an item that is as it should be."""
    return Item(Result.OK, text)


def note(text: str) -> Item:
    """Return an item that could not be judged."""
    return Item(Result.NOTE, text)


def finding(text: str) -> Item:
    """Return an item that is wrong."""
    return Item(Result.FINDING, text)
