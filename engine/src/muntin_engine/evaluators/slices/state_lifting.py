"""The map side: rows, grouped by key and slice, become what a bucket merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, compress, pairwise
from operator import not_, sub
from typing import Any, Final

from muntin import Window
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.slices.groups import (
    CHUNK_GROUPS,
    Chunk,
    EntryKind,
    SliceGroups,
    UnstorableError,
    encode_blob,
)
from muntin_engine.evaluators.slices.modules import ModuleCallError
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.state.value_columns import ValueColumn

_SAMPLE: Final = 64
"""Rows that are written to see what a row takes."""


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows of a bucket, grouped by key and slice.

    Group `g` has key `keys[group_key[g]]`, slice `group_slice[g]`, and the rows from `bounds[g]` up to `bounds[g + 1]`.

    Attributes:
        keys: The keys.
        group_key: The place of each group's key among them.
        group_slice: Its slice. Groups are in the order of their slices; a key has one group for each of its slices.
        bounds: The places between the groups among their rows; one more than there are groups.
        columns: The inputs of the query, as columns of all rows in the order of the groups.
    """

    keys: list[Key]
    group_key: list[int]
    group_slice: list[int]
    bounds: list[int]
    columns: list[list[Any]]

    @property
    def counts(self) -> list[int]:
        """The number of rows of each group."""
        return list(map(sub, self.bounds[1:], self.bounds))

    def only(self, chosen: Iterable[bool]) -> GroupedRows:
        """Return some of the groups."""
        places = list(compress(range(len(self.group_key)), chosen))
        extents = [(self.bounds[place], self.bounds[place + 1]) for place in places]
        bounds = [0]
        for start, stop in extents:
            bounds.append(bounds[-1] + stop - start)
        return GroupedRows(
            self.keys,
            [self.group_key[place] for place in places],
            [self.group_slice[place] for place in places],
            bounds,
            [list(chain.from_iterable(column[a:b] for a, b in extents)) for column in self.columns],
        )


def lift(query: SlicedQuery, rows: GroupedRows) -> bytes:
    """Lift rows for a bucket: to states, or to the rows themselves where those are smaller.

    Cost: for each module, `create_state` and `add_events` once per group that is sent as states; nothing per group that
    is sent as rows. About 1 microsecond per group besides.

    Raises:
        ModuleFailedError: A module raised an exception; its window is the extent of the slice.
        StateError: A state cannot be stored.
        ValueError: The groups are not in the order of their slices.
    """
    chunks: list[Chunk] = []
    for kind, part in _parts(query, rows):
        make = _states if kind is EntryKind.STATES else _rows if kind is EntryKind.ROWS else _nothing
        for groups in make(query, part):
            try:
                chunks += groups.encode(query.codec)
            except UnstorableError as failure:
                raise query.unstorable(failure, part.keys) from failure
    return encode_blob(rows.keys, chunks, query.codec)


def _parts(query: SlicedQuery, rows: GroupedRows) -> Iterator[tuple[EntryKind, GroupedRows]]:
    if query.has_gaps:
        gaps = list(map(query.is_gap, rows.group_slice))
        if any(gaps):
            yield EntryKind.GAPS, rows.only(gaps)
            rows = rows.only(map(not_, gaps))
    choice = query.policy.which_lift(rows.counts, _row_bytes(query, rows))
    if not isinstance(choice, list):
        yield EntryKind.STATES if choice else EntryKind.ROWS, rows
    else:
        yield EntryKind.STATES, rows.only(choice)
        yield EntryKind.ROWS, rows.only(map(not_, choice))


def _states(query: SlicedQuery, rows: GroupedRows) -> Iterator[SliceGroups]:
    """Yield groups as the states of all modules."""
    payloads = [module.payloads(rows.columns, rows.bounds[-1]) for module in query.modules]
    for start, stop in _pieces(rows):
        bounds = rows.bounds[start : stop + 1]

        def locate(place: int, start: int = start) -> tuple[Key, Window]:
            return rows.keys[rows.group_key[start + place]], query.extent(rows.group_slice[start + place])

        states: list[list[Any]] = []
        try:
            for module, some in zip(query.modules, payloads, strict=True):
                RUNNING.many(module.label, locate)
                states.append(module.add_groups(module.create_states(stop - start), some, bounds))
        except ModuleCallError as failure:
            raise failure.located(*locate(failure.place)) from failure.__cause__
        yield _groups(EntryKind.STATES, rows, start, stop, states)


def _rows(query: SlicedQuery, rows: GroupedRows) -> Iterator[SliceGroups]:
    """Yield groups as they are."""
    for start, stop in _pieces(rows):
        low, high = rows.bounds[start], rows.bounds[stop]
        yield _groups(EntryKind.ROWS, rows, start, stop, [column[low:high] for column in rows.columns])


def _nothing(query: SlicedQuery, rows: GroupedRows) -> Iterator[SliceGroups]:
    """Yield groups without anything but their numbers of rows."""
    return (_groups(EntryKind.GAPS, rows, start, stop, []) for start, stop in _pieces(rows))


def _groups(kind: EntryKind, rows: GroupedRows, start: int, stop: int, columns: list[list[Any]]) -> SliceGroups:
    bounds = rows.bounds[start : stop + 1]
    counts = list(map(sub, bounds[1:], bounds))
    numbers = rows.group_slice[max(0, start - 1) : stop]
    groups = SliceGroups.of(kind, numbers[-len(counts) :], rows.group_key[start:stop], counts, columns)
    if numbers[0] > groups.slices[0] or any(before >= after for before, after in pairwise(groups.slices)):
        raise ValueError("groups of rows must come in the order of their slices")
    return groups


def _pieces(rows: GroupedRows) -> Iterator[tuple[int, int]]:
    total = len(rows.group_key)
    return ((start, min(start + CHUNK_GROUPS, total)) for start in range(0, total, CHUNK_GROUPS))


def _row_bytes(query: SlicedQuery, rows: GroupedRows) -> float:
    """Return the average written size of a row; from a sample, and only if the policy is adaptive."""
    if not query.policy.is_adaptive or rows.bounds[-1] == 0:
        return 1.0
    step = -(-rows.bounds[-1] // _SAMPLE)
    sample = [ValueColumn(column[::step]) for column in rows.columns]
    return max(1.0, len(query.codec.pack(sample)) / -(-rows.bounds[-1] // step))
