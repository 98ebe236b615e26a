"""What the codec refuses to write, so that whatever lies in a checkpoint can be read; and columns of values."""

from __future__ import annotations

import threading
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin_engine.errors import StateError
from muntin_engine.state.codec import Codec
from muntin_engine.state.plain_kinds import DEEPEST, MOST_BITS, RECORD
from muntin_engine.state.value_columns import ValueColumn, join_columns, split_into_columns

SEED = 20130131


@dataclass
class Node:
    value: int
    next: Any = None


CODEC = Codec([Node])
NESTINGS: dict[str, Callable[[Any], Any]] = {
    "record": lambda inner: Node(1, inner),
    "tuple": lambda inner: (inner,),
    "list of tuple": lambda inner: [(inner,)],
    "frozenset": lambda inner: frozenset([inner]),
}


def kind_of(value: Any) -> str:
    """Return the name of a value's class, as the id of a case whose value is too long for one."""
    return type(value).__name__


def nested(kind: str, depth: int) -> Any:
    """Return 0 in a value of a kind, in another one of it, and so on to a depth."""
    value: Any = 0
    for _ in range(depth):
        value = NESTINGS[kind](value)
    return value


@pytest.mark.parametrize("kind", NESTINGS)
def test_what_is_nested_as_deep_as_may_be_comes_back(kind: str) -> None:
    value = nested(kind, DEEPEST)
    assert CODEC.unpack(CODEC.pack(value)) == value


@pytest.mark.parametrize("kind", NESTINGS)
@pytest.mark.parametrize("depth", [DEEPEST + 1, 250, 2000])
def test_what_is_nested_deeper_is_refused_with_what_to_do(kind: str, depth: int) -> None:
    with pytest.raises(StateError, match=r"nested more than 100 deep(.|\n)*flatten it"):
        CODEC.pack(nested(kind, depth))


def test_a_column_of_records_that_are_nested_as_deep_as_may_be_comes_back() -> None:
    records = [nested("record", DEEPEST), nested("record", DEEPEST)]
    assert CODEC.unpack(CODEC.pack(ValueColumn(records))) == records


@pytest.mark.parametrize("depth", [DEEPEST + 1, 250, 2000])
def test_a_column_of_records_that_are_nested_deeper_is_refused(depth: int) -> None:
    records = [nested("record", depth), nested("record", depth)]
    with pytest.raises(StateError, match="flatten it"):
        CODEC.pack(ValueColumn(records))


@pytest.mark.parametrize("depth", [500, 1000, 1023, 1024, 1025, 3000])
def test_lists_in_lists_are_refused_or_can_be_read_back(depth: int) -> None:
    """MessagePack knows lists, and has a limit of its own for their depth."""
    value: Any = None
    for _ in range(depth):
        value = [value]
    try:
        data = CODEC.pack(value)
    except StateError:
        assert depth > 1000
    else:
        CODEC.unpack(data)  # too deep to be compared


def test_deep_bytes_that_nobody_wrote_are_refused_also_on_a_small_stack() -> None:
    """They were a crash of the process: MessagePack took 50 kB of the stack for each level."""
    list_of_one = b"\x91"
    list_of_two = b"\x92"
    tuple_code = 1
    tuples = msgpack.packb(0)
    records = msgpack.packb(0)
    for _ in range(3000):
        tuples = msgpack.packb(msgpack.ExtType(tuple_code, list_of_one + tuples))
        records = msgpack.packb(msgpack.ExtType(RECORD, list_of_two + msgpack.packb("x") + records))
    lists = list_of_one * 100_000 + msgpack.packb(None)
    as_deep_as_may_be = CODEC.pack(nested("record", DEEPEST))
    outcomes: list[Any] = []

    def read() -> None:
        for data in (tuples, records, lists):
            try:
                CODEC.unpack(data)
            except StateError as error:
                outcomes.append(error)
        outcomes.append(CODEC.unpack(as_deep_as_may_be))

    usual_size = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(usual_size)
    assert [type(outcome) for outcome in outcomes] == [StateError, StateError, StateError, Node]


@pytest.mark.parametrize(
    "value", [2**MOST_BITS, -(2**MOST_BITS), Fraction(1, 2**MOST_BITS), [Fraction(2**MOST_BITS)]], ids=kind_of
)
def test_numbers_that_take_for_ever_are_refused_with_what_to_do(value: Any) -> None:
    with pytest.raises(StateError, match=r"an integer of 65,537 bits cannot be stored(.|\n)*round it"):
        CODEC.pack(value)


@pytest.mark.parametrize(
    "value",
    [2**64, 2 ** (MOST_BITS - 1), -(2 ** (MOST_BITS - 1)), Fraction(3, 2**15000), -(10**5000), Decimal("1e999999999")],
    ids=kind_of,
)
def test_large_numbers_are_read_back_as_they_were(value: Any) -> None:
    assert CODEC.unpack(CODEC.pack([value])) == [value]


INTEGER, FRACTION = 5, 7
"""Codes of kinds of values."""


@pytest.mark.parametrize(
    ("code", "content"),
    [(FRACTION, "1e999999999"), (FRACTION, [1, 0]), (INTEGER, "9" * 5000), (INTEGER, b"\x7f" * 10_000_000)],
    ids=["fraction of a text", "fraction by zero", "integer of digits", "integer of 10 MB"],
)
def test_numbers_that_nobody_wrote_are_refused_at_once(code: int, content: Any) -> None:
    with pytest.raises(StateError):
        CODEC.unpack(msgpack.packb(msgpack.ExtType(code, msgpack.packb(content))))


def test_text_that_is_no_unicode_is_an_error_of_the_state() -> None:
    with pytest.raises(StateError, match="cannot be stored: UnicodeEncodeError"):
        CODEC.pack(["\ud800"])


def test_a_record_whose_field_is_gone_is_an_error_of_the_state() -> None:
    node = Node(1)
    del node.value
    with pytest.raises(StateError, match=r"cannot be stored(.|\n)*value"):
        CODEC.pack([node])


def test_damaged_bytes_are_read_or_refused_with_an_error_of_the_state_and_no_other() -> None:
    random = Random(SEED)
    value = [{"a": (1.5, {2, 3}), 7: [Node(1, Node(2, (None,)))]}, Decimal("1.10"), Fraction(1, 3), 2**80, "snö", b"ab"]
    whole_entries = [
        CODEC.pack(value),
        CODEC.pack(ValueColumn([(1, Node(2, "x"))] * 3)),
        CODEC.pack(nested("tuple", 40)),
    ]
    refused = 0
    for turn in range(4000):
        data = bytearray(whole_entries[turn % 3])
        for _ in range(random.choice((1, 1, 2, 8))):  # other bytes
            data[random.randrange(len(data))] = random.randrange(256)
        if turn % 5 == 0:  # cut short
            del data[random.randrange(len(data)) :]
        try:
            CODEC.unpack(bytes(data))
        except StateError:
            refused += 1
    assert refused > 1000


# Columns: many values of one kind as bytes and back.


@dataclass(slots=True)
class Total:
    count: int
    parts: list[float] = field(default_factory=list)


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Derived:
    """A record with a field that its constructor sets, and one that only a keyword sets."""

    base: int
    twice: int = field(init=False)
    note: str = field(kw_only=True, default="")

    def __post_init__(self) -> None:
        self.twice = 2 * self.base


@dataclass
class Ordered:
    """Its constructor takes the fields in another order."""

    first: int
    second: int

    def __init__(self, second: int, first: int) -> None:
        self.first = first
        self.second = second


Untyped = namedtuple("Untyped", "a b")
COLUMN_CODEC = Codec([Total, Pair, Derived, Ordered, Untyped])

PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary(max_size=3)
)
VALUES = st.recursive(
    PLAIN | st.dates() | st.datetimes() | st.timedeltas() | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Total, st.integers(), st.lists(st.floats(allow_nan=False), max_size=2))
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


def there_and_back(values: list[Any]) -> Any:
    """Return the values that are read back of a column, which is written before another value."""
    back, next_value = COLUMN_CODEC.unpack(COLUMN_CODEC.pack([ValueColumn(values), "next"]))
    assert next_value == "next"
    return back


@settings(max_examples=100)
@given(st.lists(VALUES, max_size=6) | st.lists(st.tuples(st.integers(), VALUES), max_size=6))
def test_a_column_of_any_values_is_read_back_equal_and_of_their_types(values: list[Any]) -> None:
    back = there_and_back(values)
    assert back == values
    without_a_column = COLUMN_CODEC.unpack(COLUMN_CODEC.pack(values))
    assert repr(back) == repr(without_a_column)  # which tells 1 from True and 0.0 from -0.0


@pytest.mark.parametrize(
    "values",
    [
        [],
        [()],
        [(), ()],
        [(1,), (2, 3)],
        [(1, (2.0, "a")), (3, (-0.0, None))],
        [None, (1,)],
        [Total(1, [2.0]), Total(3)],
        [Total(1), None],
        [Total(1), Pair(1, 2)],
        [Pair(Total(1), (2,)), Pair(Total(3), (4,))],
        [Derived(3, note="x"), Derived(4)],
        [Ordered(1, 2), Ordered(3, 4)],
        [Untyped(1, 2), Untyped(3, 4)],
        [2**70, 1],
        [2**70, -(2**70)],
        [date(2013, 1, 1), None, date(2014, 1, 1)],
        [datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 1)],  # noqa: DTZ001  # naive stays naive
        [timedelta(1), timedelta(microseconds=-1)],
        [Decimal("1.10"), None],
        [{1, 2}, {3}],
        [True, False],
    ],
    ids=repr,
)
def test_a_column_of_values_of_one_kind_or_of_several_is_read_back(values: list[Any]) -> None:
    assert repr(there_and_back(values)) == repr(values)


def test_the_kind_of_the_values_of_a_column_is_written_once() -> None:
    values = [Pair(float(number), number) for number in range(1000)]
    bytes_of_column = len(COLUMN_CODEC.pack(ValueColumn(values)))
    bytes_of_list = len(COLUMN_CODEC.pack(values))
    assert bytes_of_column < 13 * len(values)  # 9 for the float and up to 3 for the integer
    assert bytes_of_list > 3 * 13 * len(values)


def test_a_column_of_a_record_that_no_module_declares_is_neither_written_nor_read() -> None:
    column = ValueColumn([Total(1)])
    with pytest.raises(StateError, match="Total cannot be stored"):
        Codec().pack(column)
    with pytest.raises(StateError, match="that no module of the query declares any more"):
        Codec().unpack(COLUMN_CODEC.pack(column))


@pytest.mark.parametrize("values", [[(1, "a"), (2, "b")], [Pair(1, "a"), Pair(2, "b")]], ids=["tuples", "records"])
def test_columns_whose_lengths_differ_are_refused(values: list[Any]) -> None:
    data = split_into_columns(values, COLUMN_CODEC._declares)
    data[-1][-1].pop()  # the last value of the last column
    with pytest.raises(ValueError, match="shorter"):
        join_columns(data, COLUMN_CODEC._record_class)
