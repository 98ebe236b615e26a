"""Which columns of the input a query reads, in its own words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the input as the query names it, with its type in Spark's words."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the input make its rows events; None where the query names none.

    Attributes:
        start: The start of an event, or the time of a point or a sample.
        end: Its end.
        id: What names it.
        change: What a row does.
        new_end: The new end in a revision.
        signal: The name of a signal.
        source: The name of the source that a row is of.
        keys: What the query groups by.
        inputs: What its modules read.
    """

    start: Column
    end: Column | None = None
    id: Column | None = None
    change: Column | None = None
    new_end: Column | None = None
    signal: Column | None = None
    source: Column | None = None
    keys: tuple[Column, ...] = ()
    inputs: tuple[Column, ...] = ()
