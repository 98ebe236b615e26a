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


def there_and_back(value: Any, *records: type) -> Any:
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
    assert isinstance(value, set) or repr(back) == repr(value)  # -0.0 stays; the order of a set means nothing


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
        assert (back.replace(tzinfo=None), back.fold, back.tzname()) == (at.replace(tzinfo=None), at.fold, at.tzname())
        assert back.utcoffset() == at.utcoffset()


def test_a_time_of_a_zone_that_nobody_could_read_back_is_refused() -> None:
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
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"[{self.start}, {self.end}) ends before it starts")


@pytest.mark.parametrize("wrap", [lambda span: span, lambda span: [span], lambda span: ValueColumn([span, Span(0, 1)])])
def test_a_record_that_its_class_refuses_is_refused_where_it_is_stored(wrap: Any) -> None:
    span = Span(1, 5)
    assert Codec([Span]).pack(wrap(span))
    span.end = 0
    with pytest.raises(StateError, match=r"cannot be stored: Span refuses it: ValueError: \[1, 0\) ends before"):
        Codec([Span]).pack(wrap(span))


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")], ids=spelled)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [1, (v,)], lambda v: {"a": {2: v}}, lambda v: Pair(1, v)])
def test_bytes_that_can_change_are_refused_as_they_would_come_back_as_bytes(value: Any, wrap: Any) -> None:
    codec = Codec([Pair], may_hold_buffers=True)
    assert codec.unpack(codec.pack(wrap(b"ab"))) == wrap(b"ab")
    with pytest.raises(StateError, match=rf"of type {type(value).__name__} cannot be stored\n  expected: bytes"):
        codec.pack(wrap(value))
    with pytest.raises(StateError, match="cannot be stored"):
        codec.pack(ValueColumn([wrap(value), wrap(value)]))


@pytest.mark.parametrize(
    ("state", "looks"),
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
    ],
    ids=str,
)
def test_states_that_may_hold_bytes_are_looked_through(state: Any, looks: bool) -> None:
    class Keeps(IncrementalAggregate[int, state, int]):
        name, version = "test.keeps", "1"

        def create_state(self) -> Any:
            return None

        def add_events(self, state: Any, payloads: Any) -> Any:
            return state

        def compute_result(self, state: Any) -> int:
            return 1

    assert Codec.of([Keeps()])._may_hold_buffers is looks


@pytest.mark.parametrize(
    ("value", "plain"),
    [(np.float64(1.5), 1.5), (np.float32(0.25), 0.25), (np.int8(-3), -3), (np.bool_(True), True), (np.str_("a"), "a")],
    ids=spelled,
)
def test_a_numpy_scalar_comes_back_as_the_number_it_stands_for(value: Any, plain: Any) -> None:
    back = there_and_back([value])
    assert back == [plain]
    assert type(back[0]) is type(plain)


@pytest.mark.parametrize(
    "value", [np.array([1, 2]), np.array(1), np.datetime64("2013-01-01", "ns"), np.array(["a"])], ids=spelled
)
def test_other_numpy_values_are_refused(value: Any) -> None:
    if np.ndim(value) == 0 and value.dtype.kind == "i":
        assert there_and_back(value) == 1
        return
    with pytest.raises(StateError, match="cannot be stored"):
        Codec().pack(value)


def test_declared_records_come_back() -> None:
    track = Track([Point(1.0, 2.0), Point(0.0, -0.0)], "t")
    track.length = 9
    assert there_and_back({"t": track, "p": Pair(1, Point(3, 4))}, Track, Point, Pair) == {
        "t": track,
        "p": Pair(1, Point(3, 4)),
    }


def test_a_record_is_known_by_its_module_too() -> None:
    namesake: Any = type("Point", (), {"__module__": "elsewhere"})
    assert type(there_and_back(Point(1, 2), namesake, Point)) is Point


def test_a_record_that_no_module_declares_is_neither_written_nor_read() -> None:
    with pytest.raises(StateError, match="Point cannot be stored"):
        Codec().pack([Point(1, 2)])
    data = Codec([Point]).pack([Point(1, 2)])
    with pytest.raises(StateError, match=r"record '.*Point' that no module of the query declares any more"):
        Codec().unpack(data)


def test_a_record_whose_fields_have_changed_is_an_error_of_the_state() -> None:
    data = Codec([Point]).pack(Point(1, 2))
    codec = Codec([Point])
    codec._records = dict.fromkeys(codec._records, Pair)
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


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        pickle.dumps([1, 2]),
        Codec().pack([1, 2])[:-1],
        Codec().pack(1) + b"\x00",
        msgpack.packb(msgpack.ExtType(77, b"\xc0")),
        msgpack.packb(msgpack.ExtType(12, msgpack.packb(["builtins.print", {"x": 1}]))),
        msgpack.packb(msgpack.ExtType(12, msgpack.packb(["os.system", ["ls"]]))),
        msgpack.packb(msgpack.ExtType(6, msgpack.packb("not a number"))),
        msgpack.packb(msgpack.ExtType(2, msgpack.packb([[1]]))),
    ],
    ids=spelled,
)
def test_bytes_that_nobody_wrote_are_refused_and_name_no_code(data: bytes) -> None:
    with pytest.raises(StateError):
        Codec([Point]).unpack(data)


def test_equal_dicts_of_one_order_give_the_same_bytes() -> None:
    first = {"a": 1, "b": {"c": (2.0, None)}}
    second = {"a": 1}
    second["b"] = {"c": (2.0, None)}  # type: ignore[assignment]  # another way to the same dict
    assert Codec().pack(first) == Codec().pack(second)


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
    assert records_in(namedtuple("Loose", "a b"))  # one without types


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
        (Any, True),
    ],
    ids=spelled,
)
def test_a_state_that_may_hold_any_number_of_values_is_known_by_its_type(annotation: Any, expected: bool) -> None:
    assert holds_many(annotation) is expected
