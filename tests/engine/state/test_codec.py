"""Plain data to bytes and back, without pickle."""

from __future__ import annotations

import math
import pickle
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypedDict
from zoneinfo import ZoneInfo

import msgpack
import numpy as np
import pytest

from muntin import IncrementalAggregate
from muntin_engine.errors import StateError
from muntin_engine.state.codec import Codec, holds_many, records_in
from muntin_engine.state.plain_kinds import RECORD
from muntin_engine.state.value_columns import ValueColumn
from tests.naming import spelled


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@dataclass
class Track:
    points: list[Point]
    name: str = "?"
    length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.length = len(self.points)


class Pair(NamedTuple):
    left: int
    right: Any


@dataclass
class Drawing:
    """A record with an annotation that nothing can evaluate, so that no field has a type that is known."""

    points: list[float]
    picture: Picture  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Blot:
    """A record with an annotation that raises an exception of its own."""

    size: 1 / 0  # type: ignore[valid-type]


def there_and_back(value: Any, *records: type) -> Any:
    """Return what a codec for these classes of records unpacks of a value that it has packed."""
    codec = Codec(records)
    return codec.unpack(codec.pack(value))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        2**64,
        -(2**200),
        1.5,
        -0.0,
        math.inf,
        "",
        "snö \u0000 🛫",
        b"\x00\xff",
        Decimal("1.10"),
        Fraction(-3, 7),
        date(2013, 1, 31),
        datetime(2013, 1, 31, 23, 59, 59, 999999),  # noqa: DTZ001  # naive stays naive
        datetime(2013, 1, 31, 23, 59, 59, 1, tzinfo=UTC),
        timedelta(days=-3, microseconds=1),
        [],
        [1, [2, []]],
        (),
        (1, (2, [3])),
        {1, "a", None},
        frozenset({(1, 2), frozenset()}),
        deque([1, (2,)]),
        {"a": 1, 2: "b", (3, None): {"c": [4]}, None: ()},
        Counter("abca"),
        [None, (True, 2**70), {"k": Decimal("NaN").is_nan()}],
    ],
    ids=spelled,
)
def test_plain_data_comes_back_equal_and_of_its_type(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)
    if not isinstance(value, set):  # whose order means nothing
        assert repr(back) == repr(value)  # -0.0 stays


def test_nan_comes_back() -> None:
    assert math.isnan(there_and_back(float("nan")))
    assert there_and_back(Decimal("NaN")).is_nan()


def test_ordered_and_defaulting_dicts_come_back_as_dicts() -> None:
    assert there_and_back(OrderedDict(b=1, a=2)) == {"b": 1, "a": 2}
    assert type(there_and_back(defaultdict(list, a=[1]))) is dict


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    "at",
    [
        datetime(2013, 1, 31, 20, tzinfo=timezone(timedelta(hours=-5))),
        datetime(2013, 1, 31, 20, tzinfo=timezone(timedelta(hours=-5), "EST")),
        datetime(2013, 1, 31, 20, tzinfo=ZoneInfo("UTC")),
        datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
        datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
        datetime(1, 1, 1, tzinfo=BERLIN),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=ZoneInfo("America/New_York")),
    ],
    ids=str,
)
def test_a_time_keeps_its_zone_and_what_its_clock_shows(at: datetime) -> None:
    for back in (there_and_back(at), *there_and_back(ValueColumn([at, at]))):
        assert back.tzinfo == at.tzinfo
        assert type(back.tzinfo) is type(at.tzinfo)
        assert back.replace(tzinfo=None) == at.replace(tzinfo=None)
        assert back.fold == at.fold
        assert back.tzname() == at.tzname()
        assert back.utcoffset() == at.utcoffset()


def test_a_time_whose_zone_has_a_class_of_its_own_is_refused() -> None:
    class Own(tzinfo):
        def utcoffset(self, at: datetime | None) -> timedelta:
            return timedelta(hours=1)

        def dst(self, at: datetime | None) -> None:
            return None

        def tzname(self, at: datetime | None) -> str:
            return "own"

    with pytest.raises(StateError, match=r"cannot be stored: its zone is a .*Own\n  expected: a time without a zone"):
        Codec().pack([datetime(2024, 1, 1, tzinfo=Own())])


@dataclass
class Span:
    """A record whose class refuses some values."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"[{self.start}, {self.end}) ends before it starts")


@pytest.mark.parametrize(
    "state_of",
    [lambda span: span, lambda span: [span], lambda span: ValueColumn([span, Span(0, 1)])],
    ids=["alone", "in a list", "in a column"],
)
def test_a_record_that_its_class_refuses_is_refused_where_it_is_stored(state_of: Any) -> None:
    span = Span(1, 5)
    assert Codec([Span]).pack(state_of(span))
    span.end = 0  # without a call of its constructor, which would refuse it
    with pytest.raises(StateError, match=r"cannot be stored: Span refuses it: ValueError: \[1, 0\) ends before"):
        Codec([Span]).pack(state_of(span))


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")], ids=spelled)
@pytest.mark.parametrize(
    "state_of",
    [lambda value: value, lambda value: [1, (value,)], lambda value: {"a": {2: value}}, lambda value: Pair(1, value)],
    ids=["alone", "in a tuple", "in a dict", "in a record"],
)
def test_bytes_that_can_change_are_refused_as_they_would_come_back_as_bytes(value: Any, state_of: Any) -> None:
    codec = Codec([Pair], may_hold_buffers=True)
    assert codec.unpack(codec.pack(state_of(b"ab"))) == state_of(b"ab")
    with pytest.raises(StateError, match=rf"of type {type(value).__name__} cannot be stored\n  expected: bytes"):
        codec.pack(state_of(value))
    with pytest.raises(StateError, match="cannot be stored"):
        codec.pack(ValueColumn([state_of(value), state_of(value)]))


@pytest.mark.parametrize(
    ("state", "may_hold_buffers"),
    [
        (int, False),
        (list[float | None], False),
        (dict[str, tuple[int, ...]], False),
        (Span, False),
        (bytes, True),
        (dict[str, bytearray], True),
        (list, True),
        (Any, True),
        (Pair, True),
        (Drawing, True),
        (Blot, True),
    ],
    ids=str,
)
def test_only_states_whose_type_allows_bytes_are_searched_for_bytes_that_can_change(
    state: Any, may_hold_buffers: bool
) -> None:
    class Keeps(IncrementalAggregate[int, state, int]):
        name, version = "test.keeps", "1"

        def create_state(self) -> Any:
            return None

        def add_events(self, state: Any, payloads: Any) -> Any:
            return state

        def compute_result(self, state: Any) -> int:
            return 1

    assert Codec.of([Keeps()])._may_hold_buffers is may_hold_buffers


@pytest.mark.parametrize(
    ("value", "plain"),
    [(np.float64(1.5), 1.5), (np.float32(0.25), 0.25), (np.int8(-3), -3), (np.bool_(True), True), (np.str_("a"), "a")],
    ids=spelled,
)
def test_a_numpy_scalar_comes_back_as_the_number_it_stands_for(value: Any, plain: Any) -> None:
    back = there_and_back([value])
    assert back == [plain]
    assert type(back[0]) is type(plain)


def test_a_numpy_array_without_dimensions_comes_back_as_its_number() -> None:
    assert there_and_back(np.array(1)) == 1


@pytest.mark.parametrize("value", [np.array([1, 2]), np.datetime64("2013-01-01", "ns"), np.array(["a"])], ids=spelled)
def test_other_numpy_values_are_refused(value: Any) -> None:
    with pytest.raises(StateError, match="cannot be stored"):
        Codec().pack(value)


def test_declared_records_come_back_with_what_was_set_after_they_were_made() -> None:
    track = Track([Point(1.0, 2.0), Point(0.0, -0.0)], "t")
    track.length = 9  # its constructor made it 2
    state = {"t": track, "p": Pair(1, Point(3, 4))}
    assert there_and_back(state, Track, Point, Pair) == state


def test_records_of_one_name_are_told_apart_by_their_python_modules() -> None:
    namesake: Any = type("Point", (), {"__module__": "elsewhere"})
    assert type(there_and_back(Point(1, 2), namesake, Point)) is Point


def test_a_record_that_no_module_declares_is_neither_written_nor_read() -> None:
    with pytest.raises(StateError, match="Point cannot be stored"):
        Codec().pack([Point(1, 2)])
    data_of_declared_record = Codec([Point]).pack([Point(1, 2)])
    with pytest.raises(StateError, match=r"record '.*Point' that no module of the query declares any more"):
        Codec().unpack(data_of_declared_record)


def test_a_record_whose_fields_have_changed_is_an_error_of_the_state() -> None:
    data = Codec([Point]).pack(Point(1, 2))
    codec = Codec([Point])
    codec._records = dict.fromkeys(codec._records, Pair)  # its name is now that of a class with other fields
    with pytest.raises(StateError, match="cannot be read: TypeError"):
        codec.unpack(data)


@pytest.mark.parametrize("value", [object(), len, Point, pickle, iter([]), 1j, range(3)], ids=spelled)
def test_what_is_not_plain_data_is_refused_by_name(value: Any) -> None:
    with pytest.raises(StateError) as caught:
        Codec().pack({"state": [value]})
    assert "cannot be stored" in str(caught.value)
    assert "expected: None, bool, int" in str(caught.value)


def test_a_value_that_could_run_code_is_refused() -> None:
    class Hostile:
        def __reduce__(self) -> Any:
            return print, ("code ran",)

        def item(self) -> Any:
            return 1

    with pytest.raises(StateError, match="cannot be stored"):
        Codec().pack(Hostile())


SET, DECIMAL, PAIRS, UNUSED = 2, 6, 12, 77
"""Codes of kinds of values beside that of records: MessagePack writes each kind as an extension type with this code."""


def extension(code: int, content: Any) -> bytes:
    """Return a value of an extension type of MessagePack, whose content is packed too."""
    packed: bytes = msgpack.packb(msgpack.ExtType(code, msgpack.packb(content)))
    return packed


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xc1", id="no MessagePack"),
        pytest.param(pickle.dumps([1, 2]), id="a pickle"),
        pytest.param(Codec().pack([1, 2])[:-1], id="cut short"),
        pytest.param(Codec().pack(1) + b"\x00", id="one byte more"),
        pytest.param(extension(UNUSED, None), id="an unknown kind"),
        pytest.param(extension(RECORD, ["builtins.print", {"x": 1}]), id="a function with fields"),
        pytest.param(extension(RECORD, ["os.system", ["ls"]]), id="a function with arguments"),
        pytest.param(extension(PAIRS, ["os.system", ["ls"]]), id="a dict of no pairs"),
        pytest.param(extension(DECIMAL, "not a number"), id="a decimal of a text"),
        pytest.param(extension(SET, [[1]]), id="a set of a list"),
    ],
)
def test_bytes_that_nobody_wrote_are_refused_and_name_no_code(data: bytes) -> None:
    with pytest.raises(StateError):
        Codec([Point]).unpack(data)


def test_equal_dicts_of_one_order_give_the_same_bytes() -> None:
    written_at_once = {"a": 1, "b": {"c": (2.0, None)}}
    written_in_steps: dict[str, Any] = {"a": 1}
    written_in_steps["b"] = {"c": (2.0, None)}
    assert Codec().pack(written_at_once) == Codec().pack(written_in_steps)


def test_the_records_of_an_annotation_are_found_at_any_depth() -> None:
    @dataclass
    class Inner:
        pair: Pair | None

    @dataclass
    class Outer:
        parts: dict[str, tuple[list[Inner], ...]]
        again: Outer | None = None

    assert records_in(dict[str, list[Track | None]]) == {Track, Point}
    assert Pair in records_in(Pair | None)
    assert records_in(Outer) >= {Outer}
    assert records_in(int | list[str]) == set()
    untyped_record = namedtuple("untyped_record", "a b")
    assert records_in(untyped_record)


class Counted(TypedDict):
    total: float
    rows: int


class Listed(TypedDict):
    values: list[float]


@dataclass
class Sums:
    pair: tuple[float, float]
    counted: Counted


@dataclass
class History:
    rows: Sequence[float]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (float, False),
        (str | None, False),
        (tuple[float, int], False),
        (tuple[float, str | None, tuple[int, int]], False),
        (Pair, True),  # its right part may be anything
        (Point, False),
        (Sums, False),
        (Counted, False),
        (tuple, True),
        (tuple[float, ...], True),
        (tuple[float, tuple], True),  # type: ignore[type-arg]  # that is the point
        (Mapping[str, int], True),
        (Sequence[float], True),
        (MutableSequence[float] | None, True),
        (Iterable[float], True),
        (AnySet[int], True),
        (Counter[str], True),
        (deque[float], True),
        (dict, True),
        (list[float], True),
        (tuple[Mapping[str, int], int], True),
        (History, True),
        (Listed, True),
        (Drawing, True),
        (Any, True),
    ],
    ids=spelled,
)
def test_a_state_that_may_hold_any_number_of_values_is_known_by_its_type(annotation: Any, expected: bool) -> None:
    assert holds_many(annotation) is expected
