"""Payloads that a module does not accept: it gets only the others, and its state counts these.

Each module of a query decides for its own input. A payload that one of them does not accept is still a member of the
window, and the other modules see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import Module, Window
from muntin.schemas import Field, ListOf, MapOf, Struct


def forbids_null(declared: Field) -> bool:
    """Say whether a module does not accept every value of an input, as a null is forbidden at some depth of it.

    Args:
        declared: The input, as the module declares it.
    """
    return not declared.is_nullable or any(map(forbids_null, _parts(declared)))


def _parts(declared: Field) -> tuple[Field, ...]:
    """Return the declarations of the parts of a value: fields, elements, or keys and values."""
    data_type = declared.type
    if isinstance(data_type, Struct):
        return data_type.fields
    if isinstance(data_type, MapOf):
        return data_type.key, data_type.value
    if isinstance(data_type, ListOf):
        return (data_type.element,)
    return ()


def forbids(value: Any, declared: Field) -> bool:
    """Say whether a stored value is a null that a module does not accept, or holds one at any depth.

    Args:
        value: The value in plain Python types: a struct is a dict of its fields, a map a list of pairs.
        declared: The input of the module, as it declares it.
    """
    if value is None:
        return not declared.is_nullable
    data_type = declared.type
    if isinstance(data_type, Struct):
        if is_tuple(data_type):  # its fields are declared by place, and may be stored under any names
            return any(map(forbids, value.values(), data_type.fields))
        return any(forbids(value[part.name], part) for part in data_type.fields if part.name in value)
    if isinstance(data_type, ListOf):
        # A list may be long: its elements are only looked at if a null is forbidden in them.
        return forbids_null(data_type.element) and any(forbids(item, data_type.element) for item in value)
    if isinstance(data_type, MapOf):
        return any(forbids(key, data_type.key) or forbids(item, data_type.value) for key, item in value)
    return False


@dataclass(frozen=True, slots=True)
class HasNoNull:
    """A condition on rows: there is no null where a module does not accept one.

    Attributes:
        needs: The places in the row that the module reads, each with its declaration.
    """

    needs: tuple[tuple[int, Field], ...]

    def __call__(self, row: Sequence[object]) -> bool:
        """Return True if the module accepts the row."""
        return not any(forbids(row[place], field) for place, field in self.needs)


def is_tuple(struct: Struct) -> bool:
    """Say whether a struct is a plain tuple: its fields have no names of their own, but `_1`, `_2` and so on."""
    names = [part.name for part in struct.fields]
    return names == [f"_{number}" for number in range(1, len(names) + 1)]


class Payloads(NamedTuple):
    """The payloads of rows, as a module gets them.

    Attributes:
        values: The payloads, with `SKIPPED` in the place of one that the module does not accept.
        has_skipped: True if any of them is `SKIPPED`.
    """

    values: list[Any]
    has_skipped: bool

    def groups(self, bounds: Iterable[int]) -> Iterator[list[Any]]:
        """Yield the payloads between each two neighbouring bounds, without those that are skipped.

        Example:
            >>> list(Payloads([1, 2, 3], has_skipped=False).groups([0, 2, 3]))
            [[1, 2], [3]]
        """
        groups = (self.values[start:stop] for start, stop in pairwise(bounds))
        return map(without_skipped, groups) if self.has_skipped else groups


def without_skipped(payloads: Iterable[Any]) -> list[Any]:
    """Return the payloads that a module accepts, without `SKIPPED`."""
    return [payload for payload in payloads if payload is not SKIPPED]


def payloads_of(select: Callable[[tuple[Any, ...]], Any], columns: Sequence[list[Any]], count: int) -> Payloads:
    """Return the payloads of rows for a module, selected from columns.

    Args:
        select: The function that selects the payload of a row, or `SKIPPED`.
        columns: The columns of the rows.
        count: The number of rows, which is not known from columns if there are none.

    Cost: nothing for each row if the payload is a column without nulls.
    """
    # Two kinds of selectors return a column as it is, so no function has to be called for each row.
    if isinstance(select, Present):
        column = columns[select.place]
        if None not in column:
            return Payloads(column, has_skipped=False)
        return Payloads([SKIPPED if value is None else value for value in column], has_skipped=True)
    if type(select) is itemgetter:
        _, places = tuple(select.__reduce__())  # only its pickled form says which items it gets
        if len(places) == 1 and isinstance(places[0], int):
            return Payloads(columns[places[0]], has_skipped=False)
    rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True) if columns else repeat((), count)
    payloads = list(map(select, rows))
    return Payloads(payloads, has_skipped=any(payload is SKIPPED for payload in payloads))


CountedState: TypeAlias = tuple[int, object]
"""The number of payloads that a module accepted, and its state of them."""


class _Skipped(Enum):
    SKIPPED = "skipped"


SKIPPED: Final = _Skipped.SKIPPED
"""The result of a selector for a row that its module does not accept; as an enum, it stays one object when pickled."""


@dataclass(frozen=True, slots=True)
class Present:
    """Selects a column for a module that does not accept null.

    Attributes:
        place: The place of the column in a row.
    """

    place: int

    def __call__(self, row: tuple[object, ...]) -> object:
        """Return the value, or `SKIPPED` if it is null."""
        value = row[self.place]
        return SKIPPED if value is None else value


@dataclass(frozen=True, slots=True)
class Accepted:
    """Selects a payload of any kind for a module that does not accept every row.

    Attributes:
        select: The selector of the payload of a row.
        is_accepted: The condition under which the module accepts a row.
    """

    select: Callable[[tuple[Any, ...]], Any]
    is_accepted: Callable[[tuple[Any, ...]], bool]

    def __call__(self, row: tuple[object, ...]) -> object:
        """Return the payload, or `SKIPPED` if the module does not accept the row."""
        return self.select(row) if self.is_accepted(row) else SKIPPED


@dataclass(frozen=True, slots=True)
class BySource:
    """Selects the payload of a module that reads several inputs, by the source of a row.

    Attributes:
        place: The place in a row of the name of its source.
        select: The function that selects the payload, for each source; rows of other sources are not accepted.
    """

    place: int
    select: Mapping[str, Callable[[tuple[Any, ...]], Any]]

    def __call__(self, row: tuple[Any, ...]) -> object:
        """Return the payload, or `SKIPPED` if no input of the module has the row's source."""
        select = self.select.get(row[self.place])
        return SKIPPED if select is None else select(row)


class CountingModule:
    """A wrapper with the methods of a module that does not accept every payload; its states count accepted payloads.

    If a window has no accepted payload, the module is not called. The result is then the `empty_result` of the module,
    or null if it has none. An operator returns the `empty_result` as its only row, or no row if it has none.
    """

    def __init__(self, module: Module) -> None:
        """Wrap a module."""
        self._module: Any = module
        self._is_operator = module.is_operator
        self._is_incremental = module.is_incremental
        self._empty = getattr(module, "empty_result", None)

    def create_state(self, *window: Window) -> CountedState:
        """Return a state of no payloads."""
        return 0, self._module.create_state(*window)

    def add_events(self, state: CountedState, accepted: Sequence[object], *window: Window) -> CountedState:
        """Return a state with more payloads, all of which are accepted."""
        if not accepted:
            return state
        count, inner = state
        return count + len(accepted), self._module.add_events(inner, accepted, *window)

    def remove_events(self, state: CountedState, accepted: Sequence[object], *window: Window) -> CountedState:
        """Return a state with fewer payloads. If none is left, the state is a new one, without errors of rounding."""
        if not accepted:
            return state
        count, inner = state
        if count == len(accepted):
            return self.create_state(*window)
        return count - len(accepted), self._module.remove_events(inner, accepted, *window)

    def combine(self, state: CountedState, other: CountedState) -> CountedState:
        """Merge two states; a second state without payloads changes nothing."""
        count, inner = state
        other_count, other_inner = other
        if not other_count:
            return state
        return count + other_count, self._module.combine(inner, other_inner)

    def deduct(self, state: CountedState, other: CountedState) -> CountedState:
        """Return a state without another one that was merged into it. If nothing is left, the state is a new one."""
        count, inner = state
        other_count, other_inner = other
        if count == other_count:
            return self.create_state()
        return count - other_count, self._module.deduct(inner, other_inner)

    def upgrade_state(self, state: CountedState, version: str, *window: Window) -> CountedState:
        """Return a state that an older version of the module wrote as a state of this version."""
        count, inner = state
        return count, self._module.upgrade_state(inner, version, *window)

    def compute_result(self, state_or_payloads: Any, *window: Window) -> object:
        """Return the result of a state, or of the accepted payloads of a window."""
        if self._is_incremental:
            count, inner = state_or_payloads
        else:
            inner = state_or_payloads
            count = len(inner)
        if count:
            return self._module.compute_result(inner, *window)
        if not self._is_operator:
            return self._empty
        return () if self._empty is None else (self._empty,)  # the rows of an operator: none or one
