# mypy: disable-error-code="no-untyped-def, no-untyped-call, no-any-return, var-annotated"
"""What an adapter makes of foreign code: types, capabilities, parameters, refusals; and the numbers of SQLite."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from inspect import signature
from typing import Any

import pytest
from pyspark import cloudpickle

from muntin import hopping, tumbling
from muntin.errors import ModuleContractError, ModuleDefinitionError
from muntin.schemas import spell
from muntin.testing import Computation, Script, WindowedQuery
from muntin_adapters import (
    from_aggregate_function,
    from_aggregator,
    from_combine_fn,
    from_sketch,
    from_sqlite_aggregate,
    from_statistic,
)
from muntin_adapters.combinators import filtering

NAMED: Any = {"name": "demo.it", "version": "1.0.0"}


class CombineFn:
    """Only declares methods, as the class of that name in Beam does."""

    def create_accumulator(self):
        raise NotImplementedError

    def add_input(self, accumulator, element):
        raise NotImplementedError

    def merge_accumulators(self, accumulators):
        raise NotImplementedError

    def extract_output(self, accumulator):
        raise NotImplementedError


class Half(CombineFn):
    """Implements two of the four methods."""

    def create_accumulator(self):
        return 0

    def add_input(self, accumulator, element: int):
        return accumulator + element


class AggregateFunction:
    """Has methods that only fail, as the base class of PyFlink does."""

    def retract(self, accumulator, *args):
        raise RuntimeError

    def merge(self, accumulator, accumulators):
        raise RuntimeError


class Total(AggregateFunction):
    """The total, scaled."""  # the documentation of the module as well

    def __init__(self, factor: int = 1, *, least: int = 0):
        if factor < 1:
            raise ValueError("factor must be positive")
        self.factor = factor
        self.least = least
        self.is_open = False

    def open(self, context):
        self.is_open = context is None

    def close(self):
        CLOSED.append(self)

    def create_accumulator(self):
        assert self.is_open
        return [self.least]

    def accumulate(self, accumulator, value: int):
        accumulator[0] += value * self.factor

    def get_value(self, accumulator) -> int:
        return accumulator[0]


CLOSED: list[Total] = []
"""The instances that were closed so far."""


class Summed(Total):
    """Implements retracting and merging, too."""

    def retract(self, accumulator, value):
        accumulator[0] -= value * self.factor

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0] - self.least


class Bare:
    """Has no method that an adapter needs."""


def test_types_come_from_annotations() -> None:
    module = from_aggregate_function(Total, **NAMED)
    assert (spell(module.input_field()), spell(module.result_field())) == ("integer", "integer")
    assert (module.name, module.version, module.__doc__) == ("demo.it", "1.0.0", "The total, scaled.")


def test_types_that_are_given_go_before_annotations() -> None:
    module = from_aggregate_function(Total, input=float, result=float, **NAMED)
    assert (spell(module.input_field()), spell(module.result_field())) == ("float", "float")


def test_a_type_of_none_is_that_of_the_annotation() -> None:
    module = from_aggregate_function(Total, input=None, result=None, **NAMED)
    assert (spell(module.input_field()), spell(module.result_field())) == ("integer", "integer")

    class Seen:
        def update(self, value: int): ...
        def serialize(self): ...

        def estimate(self) -> int:
            return 0

    sketch = from_sketch(Seen, get="estimate", input=None, result=None, **NAMED)
    assert (spell(sketch.input_field()), spell(sketch.result_field())) == ("integer", "integer")


def test_only_what_is_implemented_becomes_a_capability() -> None:
    module_without_both = from_aggregate_function(Total, **NAMED)
    module_with_both = from_aggregate_function(Summed, **NAMED)
    module_without_combine = from_aggregate_function(Summed, without=["combine"], **NAMED)

    def capabilities(module: Any) -> list[str]:
        return [name for name in ("remove_events", "combine", "deduct") if hasattr(module, name)]

    assert capabilities(module_without_both) == []
    assert capabilities(module_with_both) == ["remove_events", "combine"]
    assert capabilities(module_without_combine) == ["remove_events"]


def test_the_parameters_of_a_class_are_the_modules() -> None:
    module = from_aggregate_function(Total, **NAMED)
    assert str(signature(module)) == "(factor: int = 1, *, least: int = 0)"
    twice = module(2, least=5)
    assert twice.compute_result(twice.add_events(twice.create_state(), [1, 2])) == 11
    with pytest.raises(ValueError, match="factor must be positive"):
        module(factor=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'most'"):
        module(most=3)


def test_an_instance_has_no_parameters_and_is_left_alone() -> None:
    instance = Total(factor=3)
    module = from_aggregate_function(instance, **NAMED)
    assert str(signature(module)) == "()"
    assert module().add_events([0], [2]) == [6]
    assert not instance.is_open


def test_an_aggregate_function_is_opened_where_it_is_used_and_closed_when_it_is_dropped() -> None:
    CLOSED.clear()
    module = from_aggregate_function(Total, **NAMED)()
    module.create_state()
    assert not CLOSED
    del module
    assert [total.is_open for total in CLOSED] == [True]


@pytest.mark.parametrize("library", [pickle, cloudpickle])
def test_a_module_travels_as_the_call_that_made_it(library: Any) -> None:
    module = from_aggregate_function(Summed, **NAMED)(2, least=1)
    state = module.add_events(module.create_state(), [5])

    copied = library.loads(library.dumps(module))

    assert copied.compute_result(copied.add_events(state, [7])) == 1 + 2 * (5 + 7)
    assert type(copied).name == "demo.it"
    assert hasattr(copied, "combine")
    assert str(signature(type(copied))) == str(signature(type(module)))


@pytest.mark.parametrize("library", [pickle, cloudpickle])
def test_a_filter_of_a_filter_of_an_adapted_module_travels_too(library: Any) -> None:
    not_zero = filtering(from_aggregate_function(Summed, **NAMED), bool)
    module = filtering(not_zero, is_positive)(factor=3)

    copied = library.loads(library.dumps(module))

    assert copied.compute_result(copied.add_events(copied.create_state(), [1, -1, 2])) == 3 * (1 + 2)
    assert copied.version == module.version


def is_positive(value: int) -> bool:
    """A condition that can be imported."""
    return value > 0


def test_a_local_class_and_a_lambda_travel_by_value() -> None:
    class Local(Summed):
        pass

    module = filtering(from_aggregate_function(Local, **NAMED), lambda value: value > 1)()
    copied = cloudpickle.loads(cloudpickle.dumps(module))
    assert copied.compute_result(copied.add_events(copied.create_state(), [1, 5])) == 5


class Written(from_aggregate_function(Summed, name="demo.base", version="1")):  # type: ignore[misc]  # made by a call
    """A subclass that was written out."""

    name, version = "demo.written", "2.0.0"
    state_bytes = 100


def test_a_subclass_that_is_written_out_has_a_name_of_its_own_and_is_pickled_by_it() -> None:
    copied = pickle.loads(pickle.dumps(Written(factor=2)))
    assert type(copied) is Written
    assert copied.add_events(copied.create_state(), [3]) == [6]
    assert (copied.name, copied.version, copied.state_bytes) == ("demo.written", "2.0.0", 100)


@pytest.mark.parametrize(
    ("adapter", "code", "options", "message"),
    [
        (from_combine_fn, Half, {}, "Half has no merge_accumulators and no extract_output\n  expected: a combine"),
        (from_combine_fn, Bare(), {}, "Bare has no create_accumulator and no add_input"),
        (from_aggregate_function, AggregateFunction, {}, "no create_accumulator and no accumulate and no get_value"),
        (from_aggregator, Bare, {}, "Bare has no reduce and no merge and no finish"),
        (from_sqlite_aggregate, Bare, {}, "Bare has no step and no finalize"),
        (from_sqlite_aggregate, Bare(), {}, "is not a class"),
        (from_statistic, Bare, {}, "Bare has no update and no get"),
        (from_sketch, Bare, {"get": "get_estimate", "input": int}, "Bare has no update and no get_estimate"),
        (from_aggregate_function, Total, {"serialize": list}, "give both"),
        (from_aggregate_function, Total, {"without": ["merge"]}, "'merge' is not a capability"),
        (from_aggregate_function, Total, {"name": "total"}, "named 'total'"),
        (from_aggregate_function, Total, {"version": ""}, "has no version"),
        (from_aggregate_function, Total, {"result": complex}, "its result is <class 'complex'>, which no column has"),
        (from_aggregate_function, Total, {"input": list}, "its payloads is <class 'list'>, which no column has"),
    ],
)
def test_code_of_another_shape_is_refused_where_the_module_is_defined(
    adapter: Any, code: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModuleDefinitionError, match=message):
        adapter(code, **{**NAMED, **options})


def test_a_missing_type_is_refused_with_where_to_say_it() -> None:
    class Silent:
        def step(self, value):
            return None

        def finalize(self):
            return 0

    with pytest.raises(ModuleDefinitionError) as refused:
        from_sqlite_aggregate(Silent, **NAMED)
    assert "expected: annotations as in" in str(refused.value)
    assert "Silent.step(value: float), or input=float" in str(refused.value)
    with pytest.raises(ModuleDefinitionError, match="or result=float"):
        from_sqlite_aggregate(Silent, input=int, **NAMED)


def test_options_that_are_missing_or_unknown_are_refused() -> None:
    with pytest.raises(TypeError, match="an adapter needs version"):
        from_combine_fn(Half, name="demo.half")  # type: ignore[call-arg]  # that is the mistake
    with pytest.raises(TypeError, match="no adapter takes codec="):
        from_combine_fn(Half, codec=1, **NAMED)  # type: ignore[call-arg]  # that is the mistake


class Holding:
    """Holds something that nobody can store."""

    def __init__(self):
        self.parts = None

    def update(self, x: int):
        self.parts = object()

    def get(self) -> int:
        return 0


def test_an_accumulator_that_cannot_be_stored_is_refused_with_what_to_write() -> None:
    module = from_statistic(Holding, **NAMED)()
    with pytest.raises(
        ModuleContractError, match=r"(?s)the accumulator of demo.it.parts is <object .* give serialize="
    ):
        module.add_events(module.create_state(), [1])


def test_pickle_is_used_only_where_the_writer_says_so() -> None:
    module = from_statistic(Holding, serialize=pickle.dumps, deserialize=pickle.loads, **NAMED)()
    assert isinstance(module.add_events(module.create_state(), [1]), bytes)


# Aggregates of SQLite, in SQLite and as modules.

ROWS = [(0, 3), (1, -1), (2, 4), (3, 1), (4, 5), (6, 9), (7, 2), (9, 6)]
"""Times and values."""


class Spread:
    """The largest value less the smallest: an aggregate that can take nothing back."""

    def __init__(self):
        self.values = []

    def step(self, value: int):
        self.values.append(value)

    def finalize(self) -> int:
        self.values.sort()
        return self.values.pop() - self.values[0] if len(self.values) > 1 else 0


class SumOf:
    """A window function, which SQLite moves over the rows by step and inverse."""

    def __init__(self):
        self.total = 0

    def step(self, value: int):
        self.total += value

    def inverse(self, value: int):
        self.total -= value

    def value(self) -> int:
        return self.total

    def finalize(self) -> int:
        return self.total


class Covariance:
    """An aggregate of two columns."""

    def __init__(self):
        self.n = 0
        self.x = 0
        self.y = 0
        self.xy = 0

    def step(self, x: int, y: int):
        self.n = self.n + 1
        self.x = self.x + x
        self.y = self.y + y
        self.xy = self.xy + x * y

    def finalize(self) -> int:
        return self.n * self.xy - self.x * self.y


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    """A database with the rows in a table "readings"."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE readings (at INTEGER, value INTEGER)")
        connection.executemany("INSERT INTO readings VALUES (?, ?)", ROWS)
        yield connection


def test_an_aggregate_gives_each_tumbling_window_what_group_by_gives(database: sqlite3.Connection) -> None:
    database.create_aggregate("spread", 1, Spread)
    groups = database.execute("SELECT 4 * (at / 4) + 4, spread(value) FROM readings GROUP BY at / 4").fetchall()

    module = from_sqlite_aggregate(Spread, name="sqlite.spread", version="1")
    assert results_by_end(module, tumbling(4)) == dict(groups)


def test_a_window_function_gives_each_hopping_window_what_sqlites_own_gives(database: sqlite3.Connection) -> None:
    # In SQL the window of a row has it and the rows of the three ticks before: it ends one tick after the row. A
    # hopping window of four ticks ends at each tick, also where there is no row.
    database.create_window_function("sumof", 1, SumOf)
    sql = "SELECT at + 1, sumof(value) OVER (ORDER BY at RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) FROM readings"
    sums_by_end = dict(database.execute(sql).fetchall())

    module = from_sqlite_aggregate(SumOf, name="sqlite.sum_of", version="1")
    results = results_by_end(module, hopping(4, 1))
    assert {end: results[end] for end in sums_by_end} == sums_by_end


def test_an_aggregate_of_two_columns_gives_what_sqlite_gives(database: sqlite3.Connection) -> None:
    database.create_aggregate("covariance", 2, Covariance)  # type: ignore[arg-type]  # its stub knows no such step
    module = from_sqlite_aggregate(Covariance, name="sqlite.covariance", version="1")()
    state = module.add_events(module.create_state(), ROWS)

    (covariance,) = database.execute("SELECT covariance(at, value) FROM readings").fetchone()
    assert module.compute_result(state) == covariance


def results_by_end(module, window) -> dict[int, int]:
    """Return the result of each window over the rows, by its end."""
    script = Script()
    for place, (at, value) in enumerate(ROWS):
        script = script.point(str(place), at, value)
    rows = script.close().run(WindowedQuery(window, [Computation(module())]))[None]
    return {row.window.end: row.value[0] for row in rows}
