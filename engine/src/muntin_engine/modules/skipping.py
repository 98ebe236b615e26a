"""Payloads that a module does not accept: it is given the others, and what it keeps says how many those are.

Each module of a query decides for its own input. What one of them leaves out is a member of the window all the same,
and the other modules see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any, Final, TypeAlias

from muntin import Module, Window
from muntin.schemas import Field, ListOf, MapOf, Struct


def forbids_null(wanted: Field) -> bool:
    """True if a module that reads this does not accept every value: a null is forbidden at some depth."""
    return not wanted.is_nullable or any(map(forbids_null, _parts(wanted)))


def forbids(value: Any, wanted: Field) -> bool:
    """Return True if a stored value is, or holds at any depth, a null that a module does not accept.

    Args:
        value: The value in plain Python types: a struct is a dict of its fields, a map a list of pairs.
        wanted: What the module reads.
    """
    if value is None:
        return not wanted.is_nullable
    kind = wanted.type
    if isinstance(kind, Struct):
        if is_tuple(kind):
            return any(map(forbids, value.values(), kind.fields))
        return any(forbids(value[part.name], part) for part in kind.fields if part.name in value)
    if isinstance(kind, ListOf):
        return forbids_null(kind.element) and any(forbids(item, kind.element) for item in value)
    if isinstance(kind, MapOf):
        return any(forbids(key, kind.key) or forbids(item, kind.value) for key, item in value)
    return False


@dataclass(frozen=True, slots=True)
class HasNoNull:
    """True of a row that holds no null that a module does not read.

    Attributes:
        needs: The places in the row that matter, with what the module reads there.
    """

    needs: tuple[tuple[int, Field], ...]

    def __call__(self, row: Sequence[object]) -> bool:
        """Return True if the module accepts the row."""
        return not any(forbids(row[place], field) for place, field in self.needs)


def is_tuple(struct: Struct) -> bool:
    """True for the fields of a plain tuple, which have no names of their own."""
    return [part.name for part in struct.fields] == [f"_{place}" for place in range(1, len(struct.fields) + 1)]


def _parts(wanted: Field) -> tuple[Field, ...]:
    if isinstance(wanted.type, Struct):
        return wanted.type.fields
    if isinstance(wanted.type, MapOf):
        return wanted.type.key, wanted.type.value
    return (wanted.type.element,) if isinstance(wanted.type, ListOf) else ()


def payloads_of(select: Callable[[tuple[Any, ...]], Any], columns: Sequence[list[Any]], count: int) -> list[Any]:
    """Return the payloads that a selector makes of rows, which are given as columns; `SKIPPED` among them.

    Cost: nothing for each row where the payload is a column without nulls.
    """
    if isinstance(select, Present):
        column = columns[select.place]
        return [SKIPPED if value is None else value for value in column] if None in column else column
    if type(select) is itemgetter:
        _, places = tuple(select.__reduce__())
        if len(places) == 1 and isinstance(places[0], int):
            return columns[places[0]]
    return [select(row) for row in zip(*columns, strict=True)] if columns else [select(()) for _ in range(count)]


CountedState: TypeAlias = tuple[int, object]
"""The number of payloads that a module accepted, and its state of them."""


class _Skipped(Enum):
    SKIPPED = "skipped"


SKIPPED: Final = _Skipped.SKIPPED
"""A selector's result for a row of which its module accepts nothing; it stays itself when it is pickled."""


@dataclass(frozen=True, slots=True)
class Present:
    """Selects a column, where null is not accepted."""

    place: int

    def __call__(self, row: tuple[object, ...]) -> object:
        """Return the payload, or `SKIPPED`."""
        value = row[self.place]
        return SKIPPED if value is None else value


@dataclass(frozen=True, slots=True)
class Accepted:
    """Selects a payload of any kind, where a module does not accept all.

    Attributes:
        select: Makes the payload of a row.
        is_accepted: Whether the module accepts it.
    """

    select: Callable[[tuple[Any, ...]], Any]
    is_accepted: Callable[[tuple[Any, ...]], bool]

    def __call__(self, row: tuple[object, ...]) -> object:
        """Return the payload, or `SKIPPED`."""
        return self.select(row) if self.is_accepted(row) else SKIPPED


@dataclass(frozen=True, slots=True)
class BySource:
    """Selects the payload of a module that reads several inputs: what a row is depends on the source it is of.

    Attributes:
        place: The place of the name of its source in a row.
        select: Makes the payload of a row, by the name of its source; the rows of other sources are not accepted.
    """

    place: int
    select: Mapping[str, Callable[[tuple[Any, ...]], Any]]

    def __call__(self, row: tuple[Any, ...]) -> object:
        """Return the payload, or `SKIPPED`."""
        select = self.select.get(row[self.place])
        return SKIPPED if select is None else select(row)


class Choosy:
    """A module behind its own methods, with states that count the payloads in them.

    Where there are none the module is not called, and the result is null; an operator then has no rows. What a module
    says of nothing itself by `empty_result` holds instead, as its result or its one row.
    """

    def __init__(self, module: Module) -> None:
        self._module: Any = module
        self._is_operator = module.is_operator
        self._is_incremental = module.is_incremental
        self._empty = getattr(module, "empty_result", None)

    def create_state(self, *window: Window) -> CountedState:
        """Return a state of nothing."""
        return 0, self._module.create_state(*window)

    def add_events(self, state: CountedState, accepted: Sequence[object], *window: Window) -> CountedState:
        """Return a state with more payloads, all of which are accepted."""
        count, inner = state
        return (count + len(accepted), self._module.add_events(inner, accepted, *window)) if accepted else state

    def remove_events(self, state: CountedState, accepted: Sequence[object], *window: Window) -> CountedState:
        """Return a state with fewer; one of nothing is new, so that no rounding is left of what was in it."""
        count, inner = state
        if not accepted:
            return state
        if count == len(accepted):
            return self.create_state(*window)
        return count - len(accepted), self._module.remove_events(inner, accepted, *window)

    def combine(self, state: CountedState, other: CountedState) -> CountedState:
        """Return the state of both."""
        return (state[0] + other[0], self._module.combine(state[1], other[1])) if other[0] else state

    def deduct(self, state: CountedState, other: CountedState) -> CountedState:
        """Return a state without another that was merged into it."""
        count = state[0] - other[0]
        return (count, self._module.deduct(state[1], other[1])) if count else self.create_state()

    def upgrade_state(self, state: CountedState, version: str, *window: Window) -> CountedState:
        """Return today's state of one that an older version of the module wrote."""
        count, inner = state
        return count, self._module.upgrade_state(inner, version, *window)

    def compute_result(self, known: Any, *window: Window) -> object:
        """Return the result of a state, or of the accepted payloads of a window."""
        count, inner = known if self._is_incremental else (len(known), known)
        if count:
            return self._module.compute_result(inner, *window)
        if self._is_operator:
            return () if self._empty is None else (self._empty,)
        return self._empty
