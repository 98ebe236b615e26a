"""Values as small integers, codes, and the merge of the values that have the same code."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import Component, Merge
from muntin.columnar import identities, merge, merger
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import canonical
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array

DENSE: Final = 4
"""Counting in a table is used where it has at most so many cells per value; above that, hashing."""

_FEW: Final = 1 << 16
"""Counting in a table is used in any case where it has at most so many cells."""

LARGEST_CODE: Final = 2**62
"""Several codes are combined into one number where that is less."""


class Codes(NamedTuple):
    """Rows that are numbered: equal ones have one number, their code.

    Attributes:
        codes: For each row its code.
        size: The number of codes.
        columns: The columns of a row of each code.
    """

    codes: IntArray
    size: int
    columns: Sequence[pa.Array]


def encode(columns: Sequence[pa.Array], length: int) -> Codes:
    """Number the distinct rows of columns; equal rows have equal codes, and null equals null.

    Cost: one pass per column with a hash table. Structs, lists and maps, which Arrow does not hash, go through Python.

    Args:
        columns: The columns.
        length: The number of rows; if there are no columns, nothing else says it.
    """
    if not columns:  # all rows are equal
        return Codes(np.zeros(length, np.int64), size=min(length, 1), columns=())
    if len(columns) == 1 and not pa.types.is_nested(columns[0].type):
        encoded = pc.dictionary_encode(columns[0], null_encoding="encode")
        return Codes(_indices(encoded), len(encoded.dictionary), [encoded.dictionary])

    # Codes of columns are combined one after the other, and numbered without gaps each time, so that they stay small.
    first_column, *further_columns = columns
    codes, size = _encode_column(first_column)
    for column in further_columns:
        column_codes, count = _encode_column(column)
        codes, size = compress(codes * count + column_codes, size * count)
    first_rows = arrow_array(first_places(codes, size))
    return Codes(codes, size, [column.take(first_rows) for column in columns])


def compress(codes: IntArray, size: int) -> tuple[IntArray, int]:
    """Number codes without gaps, in their order; return the new codes, and how many there are.

    Args:
        codes: The codes, from 0 up to but not including `size`.
        size: The limit of the codes, which may be much larger than their number.
    """
    occurring, places = distinct(codes, size)
    return places, len(occurring)


def distinct(codes: IntArray, size: int | None = None) -> tuple[IntArray, IntArray]:
    """Return the codes that occur, ascending, and for each code its place among them.

    Cost: a few passes over a table of `size` cells, which is much cheaper than sorting; hashing if the table were large
    in comparison with the number of codes.

    Args:
        codes: The codes, from 0 up to but not including `size`.
        size: The limit of the codes, which may be much larger than their number; None to look for the largest one.
    """
    if size is None:
        size = int(codes.max(initial=-1)) + 1
    if fits_table(size, len(codes)):
        occurs = np.zeros(size, np.bool_)
        occurs[codes] = True
        places_of_cells = np.cumsum(occurs) - 1
        return np.flatnonzero(occurs), places_of_cells[codes]

    # The dictionary has the codes in the order in which they first occur; it is sorted afterwards.
    encoded = pc.dictionary_encode(arrow_array(codes))
    occurring: IntArray = numpy_array(encoded.dictionary)
    order = np.argsort(occurring)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return occurring[order], places[numpy_array(encoded.indices)]


def number(values: IntArray) -> tuple[IntArray, int]:
    """Turn integers of any range into codes from 0 on, in their order; return the codes, and their limit.

    An integer's code is its distance from the smallest one. If these distances were large in comparison with the number
    of integers, those that occur are numbered without gaps instead.
    """
    least = int(values.min())
    largest = int(values.max())
    if largest - least < max(DENSE * len(values), _FEW):
        return values - least, largest - least + 1
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, len(distinct)


def fits_table(size: int, values: int) -> bool:
    """True if a table with a cell for each of `size` codes is small, or not much larger than the number of values."""
    return size <= max(DENSE * values, _FEW)


def first_places(codes: IntArray, size: int) -> IntArray:
    """Return for each code the place of the first value that has it; every code must occur."""
    # Backwards, so that the first value of a code is written last.
    places = np.empty(size, np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return places


def stable_order(codes: IntArray, size: int) -> IntArray:
    """Return the places of codes from the smallest to the largest; equal codes stay in their order.

    Args:
        codes: The codes, from 0 up to but not including `size`.
        size: The limit of the codes.
    """
    # NumPy sorts numbers of 16 bits by counting, an order of magnitude faster than larger ones.
    if size <= 1 << 16:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    return _order_of_numbers(codes, size)


def _order_of_numbers(numbers: IntArray, size: int) -> IntArray:
    """Return the places of numbers from the smallest to the largest; equal numbers stay in their order.

    Args:
        numbers: The numbers, from 0 up to but not including `size`.
        size: The limit of the numbers.
    """
    place_bits = len(numbers).bit_length()
    if size << place_bits >= LARGEST_CODE:  # a number and its place do not fit into one integer
        return np.argsort(numbers, kind="stable")

    # Each number is put into one integer with its place in the lower bits. NumPy sorts integers several times as fast
    # as it finds the order of numbers.
    order: IntArray = numbers << place_bits
    order |= np.arange(len(numbers))
    order.sort()
    order &= (1 << place_bits) - 1
    return order


def by_key_and_start(keys: IntArray, lows: IntArray) -> IntArray:
    """Return the places of stretches in the order of keys and then of starts.

    Args:
        keys: The code of each stretch's key.
        lows: The start of each stretch.
    """
    if not len(keys):
        return np.empty(0, np.int64)
    least = int(lows.min())
    largest = int(lows.max())
    width = largest - least + 1
    size = width * (int(keys.max()) + 1)
    if size >= LARGEST_CODE:
        return np.lexsort((lows, keys))
    # Key and start make one number: sorting by that is faster than sorting by two.
    return _order_of_numbers(keys * width + (lows - least), size)


def expanded(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Number the members of groups: return for each member the place of its group, and its place within the group.

    Args:
        counts: The number of members of each group; members come group by group.

    Example:
        >>> owners, within = expanded(np.array([2, 0, 1]))
        >>> owners.tolist(), within.tolist()
        ([0, 0, 2], [0, 1, 0])
    """
    owners = np.repeat(np.arange(len(counts)), counts)
    group_starts = np.cumsum(counts) - counts
    return owners, np.arange(len(owners)) - np.repeat(group_starts, counts)


def few_members(counts: IntArray, run_members: int) -> Iterator[tuple[int, int]]:
    """Cut groups into runs of few members: yield the first group of each run, and the group after its last one.

    Groups are never divided. So a run that contains a large group has all of its members, and up to about `run_members`
    more.

    Args:
        counts: The number of members of each group.
        run_members: About how many members a run has.

    Example:
        >>> list(few_members(np.array([2, 1, 1, 9, 1]), 3))
        [(0, 2), (2, 3), (3, 5)]
    """
    if not len(counts):
        return
    # A cut after every `run_members` members falls into a group, with which a run begins. Several cuts may fall into
    # one large group: then only one run begins there.
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], run_members), "right").tolist()
    yield from pairwise([*dict.fromkeys(cuts), len(counts)])


def members_of(counts: IntArray, groups: IntArray | slice) -> IntArray | slice:
    """Return the places of the members of selected groups, where the members of all groups lie group by group.

    Args:
        counts: The number of members of each group.
        groups: The places of the selected groups; neighbours as a slice without a step.

    Returns:
        The places; as a slice if the groups were given as a slice.

    Example:
        >>> members_of(np.array([2, 1, 3]), np.array([2, 0])).tolist()
        [3, 4, 5, 0, 1]
    """
    ends = np.cumsum(counts)[groups]
    sizes = counts[groups]
    if isinstance(groups, slice):
        if not len(sizes):
            return slice(0, 0)
        return slice(int(ends[0] - sizes[0]), int(ends[-1]))
    owners, within = expanded(sizes)
    members: IntArray = (ends - sizes)[owners] + within
    return members


def product(*sizes: int) -> int:
    """Return how many combinations there are of a code of each kind.

    Args:
        sizes: The number of codes of each kind, such as of keys and of slices.

    Raises:
        OverflowError: 64 bits are too few to number the combinations.
    """
    total = 1
    for size in sizes:
        total *= size
    if total > LARGEST_CODE:
        raise OverflowError(f"{sizes} codes cannot be combined in 64 bits")
    return total


def _encode_column(column: pa.Array) -> tuple[IntArray, int]:
    """Return the code of each value of a column, and how many codes there are."""
    if pa.types.is_nested(column.type):
        column = _stand_ins(column)
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    return _indices(encoded), len(encoded.dictionary)


def _indices(encoded: pa.DictionaryArray) -> IntArray:
    """Return the codes of a column that Arrow encoded."""
    indices: IntArray = numpy_array(encoded.indices).astype(np.int64)
    return indices


def _stand_ins(column: pa.Array) -> pa.Array:
    """Return a column of numbers that are equal where values are: Arrow does not encode structs, lists and maps."""
    number_of: dict[Hashable, int] = {}
    numbers: list[int] = []
    for value in column.to_pylist():
        numbers.append(number_of.setdefault(freeze(canonical(value)), len(number_of)))
    return arrow_array(numbers)


def reduce_codes(component: Component, codes: IntArray, size: int, values: Array) -> Array:
    """Merge the values of each code; a code without values gets the identity of the component.

    Cost: one pass. A module's own function takes as many as the logarithm, to base 2, of the most values of one code.

    Args:
        component: The component that the values are of; not `COLLECT`.
        codes: n codes from 0 up to but not including `size`.
        size: The number of results.
        values: n values.
    """
    values = np.asarray(values, component.dtype)
    if component.merge is Merge.CUSTOM:
        return _tournament(component, codes, size, values)
    is_sum = component.merge in (Merge.ADD, Merge.COUNT)
    if is_sum and component.dtype == "float64" and not component.shape:  # the fastest way, for floats alone
        return np.bincount(codes, weights=values, minlength=size)
    merged = identities(component, size)
    with np.errstate(invalid="ignore"):  # of NaN, which is a value like any other, NumPy warns here and nowhere else
        merger(component).at(merged, codes, values)  # type: ignore[attr-defined]  # a ufunc
    return merged


def _tournament(component: Component, codes: IntArray, size: int, values: Array) -> Array:
    """Merge the values of each code with a module's own function, which merges two arrays value by value.

    In each round, neighbours of one code are merged in pairs, until each code has one value. The arguments are those of
    `reduce_codes`.

    Cost: a call of the function for each round; as many rounds as the logarithm of the largest number of values of one
    code.
    """
    order = stable_order(codes, size)
    codes = codes[order]
    values = values[order]
    while len(codes) > 1:
        # In each group of a code, the first and the second value make a pair, the third and the fourth, and so on.
        group_starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        group_sizes = np.diff(np.r_[group_starts, len(codes)])
        rank_in_group = np.arange(len(codes)) - np.repeat(group_starts, group_sizes)
        is_first = rank_in_group % 2 == 0
        firsts = np.flatnonzero(is_first)
        has_second = np.append(~is_first, False)[firsts + 1]  # the last one of a group of odd size has none
        if not has_second.any():
            break
        merged = values[firsts]
        merged[has_second] = merge(component, merged[has_second], values[firsts[has_second] + 1])
        codes = codes[firsts]
        values = merged
    results = identities(component, size)
    results[codes] = values
    return results
