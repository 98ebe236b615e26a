# mypy: disable-error-code="no-untyped-def, no-untyped-call, no-any-return, var-annotated"
"""`from_aggregator` on the shape of PySpark's own `Aggregator`, which is new in 4.4: schemas, and tuples of arguments.

The base class here has the members of `pyspark.sql.aggregator.Aggregator` as it was merged (SPARK-58736).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from muntin import tumbling
from muntin.errors import ModuleDefinitionError
from muntin.schemas import spell
from muntin.testing import Computation, Script, WindowedQuery
from muntin_adapters import from_aggregator
from muntin_engine.state.codec import holds_many
from muntin_engine.testing import crash_everywhere
from tests.plugins.forms import broken_laws, result, tree_result


class Aggregator(ABC):
    """What a class of the new shape inherits: properties for two schemas, four methods, and a call that is refused."""

    @property
    @abstractmethod
    def bufferSchema(self) -> spark_types.StructType: ...

    @property
    @abstractmethod
    def outputType(self) -> spark_types.DataType: ...

    @abstractmethod
    def zero(self) -> tuple[Any, ...]: ...

    @abstractmethod
    def reduce(self, buffer: tuple[Any, ...], value: tuple[Any, ...]) -> tuple[Any, ...]: ...

    @abstractmethod
    def merge(self, buffer1: tuple[Any, ...], buffer2: tuple[Any, ...]) -> tuple[Any, ...]: ...

    @abstractmethod
    def finish(self, buffer: tuple[Any, ...]) -> Any: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("an aggregator is not called")


class Mean(Aggregator):
    """The mean of the values that are not null."""

    @property
    def bufferSchema(self):
        sum_field = spark_types.StructField("sum", spark_types.DoubleType())
        return spark_types.StructType([sum_field, spark_types.StructField("count", spark_types.LongType())])

    @property
    def outputType(self):
        return spark_types.DoubleType()

    def zero(self):
        return (0.0, 0)

    def reduce(self, buffer, value):
        (number,) = value
        if number is None:
            return buffer
        return (buffer[0] + number, buffer[1] + 1)

    def merge(self, buffer1, buffer2):
        return (buffer1[0] + buffer2[0], buffer1[1] + buffer2[1])

    def finish(self, buffer):
        return buffer[0] / buffer[1] if buffer[1] else None


class Weighted(Mean):
    """The mean of values by their weights; two columns."""

    def reduce(self, buffer, value: tuple[float, int]):
        number, weight = value
        return (buffer[0] + number * weight, buffer[1] + weight)


class Ends(Aggregator):
    """The least and the largest value, and all of them: a record, of a list as well."""

    def __init__(self, most: int = 3) -> None:
        self.most = most

    @property
    def bufferSchema(self):
        values = spark_types.ArrayType(spark_types.LongType())
        return spark_types.StructType([spark_types.StructField("values", values)])

    @property
    def outputType(self):
        number = spark_types.LongType()
        return spark_types.StructType(
            [
                spark_types.StructField("low", number),
                spark_types.StructField("high", number),
                spark_types.StructField("all of them", spark_types.ArrayType(number)),
            ]
        )

    def zero(self):
        return ([],)

    def reduce(self, buffer, value):
        return (sorted([*buffer[0], value[0]])[: self.most],)

    def merge(self, buffer1, buffer2):
        return (sorted([*buffer1[0], *buffer2[0]])[: self.most],)

    def finish(self, buffer):
        (values,) = buffer
        return (values[0], values[-1], values)


class Scaled(Mean):
    """Cannot be made without a parameter, so a class of it cannot say its schemas."""

    def __init__(self, scale: float) -> None:
        self.scale = scale


class Trip(NamedTuple):
    """A record of two columns."""

    km: float
    riders: int


def adapted(aggregator: Any, **options: Any) -> Any:
    """Return the module that an aggregator, or a class of such, is made."""
    return from_aggregator(aggregator, name="spark.adapted", version="1.0.0", **options)


@pytest.mark.parametrize("aggregator", [Mean, Mean()])
def test_one_column_of_any_type_comes_as_a_tuple(aggregator: Any) -> None:
    module = adapted(aggregator)
    assert spell(module.input_field()) == "any | None"
    assert spell(adapted(aggregator, input=None).input_field()) == "any | None"
    assert spell(module.result_field()) == "float | None"
    assert not holds_many(module.state_type())
    assert result(module(), [1.0, None, 4.0]) == 2.5
    assert result(module(), []) is None
    assert result(module(), [None]) is None


def test_states_merge_as_buffers_do() -> None:
    module = adapted(Mean)()
    left = module.add_events(module.create_state(), [1.0, 2.0])
    right = module.add_events(module.create_state(), [6.0])
    assert module.compute_result(module.combine(left, right)) == 3.0
    assert left == (3.0, 2), "a buffer of plain values is the state itself"


@pytest.mark.parametrize(
    ("aggregator", "options", "payloads"),
    [
        (Weighted, {}, [(1.0, 1), (4.0, 2)]),
        (Weighted, {"input": Trip}, [Trip(1.0, 1), Trip(4.0, 2)]),
    ],
)
def test_several_columns_come_as_one_tuple(aggregator: Any, options: Any, payloads: list[Any]) -> None:
    assert result(adapted(aggregator, **options)(), payloads) == 3.0


def test_records_and_lists_of_a_schema_are_columns() -> None:
    module = adapted(Ends, input=int)
    assert spell(module.result_field()) == (
        "struct<low: integer | None, high: integer | None, all of them: list[integer | None] | None> | None"
    )
    assert holds_many(module.state_type())
    assert result(module(most=2), [5, 3, 9]) == (3, 5, [3, 5])


def test_buffers_merge_in_any_order_and_the_laws_hold() -> None:
    payloads = [1.0, 2.0, 4.5, None]
    assert tree_result(adapted(Mean)(), payloads, Random(3)) == 2.5
    assert broken_laws(adapted(Mean, input=float | None)()) == []


def test_buffers_survive_restarts() -> None:
    script = Script().point("a", 1, 2.0).point("b", 4, 3.0).punctuate(5).point("c", 12, 7.0).close()
    survived = crash_everywhere(script, WindowedQuery(tumbling(10), [Computation(adapted(Mean, input=float)())]))
    assert len(survived.evaluators) > 1


def test_a_class_that_needs_parameters_says_its_types_or_comes_as_an_instance() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"which takes scale\n  expected: an instance"):
        adapted(Scaled)
    assert result(adapted(Scaled(2.0))(), [1.0, 3.0]) == 2.0
    assert result(adapted(Scaled, result=float, input=float)(2.0), [1.0, 3.0]) == 2.0


def test_an_aggregator_that_lacks_methods_is_refused() -> None:
    class Lacking(Aggregator):
        bufferSchema = Mean.bufferSchema
        outputType = Mean.outputType

    with pytest.raises(ModuleDefinitionError, match="Lacking has no reduce and no merge and no finish"):
        adapted(Lacking)


def test_an_aggregator_whose_output_no_column_has_is_refused() -> None:
    class Null(Mean):
        @property
        def outputType(self):
            return spark_types.NullType()

    with pytest.raises(ModuleDefinitionError, match=r"NullType(.|\n)*or say it with result="):
        adapted(Null)


def test_types_that_are_given_go_before_those_of_the_schema() -> None:
    decimals = adapted(Mean, input=Decimal, result=Decimal)
    assert spell(decimals.result_field()) == "decimal"


def test_a_query_on_spark_runs_an_aggregator_as_a_module(spark: SparkSession) -> None:
    from muntin_engine import events, module

    df = spark.createDataFrame([(1, 2.0), (2, None), (3, 5.0), (12, 7.0)], "at bigint, x double")
    query = events(df, at="at").window(tumbling(10)).aggregate(mean=module(adapted(Mean), "x"))
    rows = query.results().collect()
    assert sorted((row["window"]["start"], row["mean"]) for row in rows) == [(0, 3.5), (10, 7.0)]
