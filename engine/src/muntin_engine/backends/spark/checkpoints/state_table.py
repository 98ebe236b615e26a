"""The state in a checkpoint as a DataFrame: what its queries hold, without the queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import isfinite
from os import PathLike
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin import EARLIEST, INFINITY
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.column_types import arrow_schema_of
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.errors import StateError
from muntin_engine.state.differences import decimal_places_of
from muntin_engine.wire.times import as_times

_TIMES: Final[Mapping[str, spark_types.DataType]] = {
    "timestamp": spark_types.TimestampType(),
    "timestamp_ntz": spark_types.TimestampNTZType(),
}
_DIGITS_OF_TICKS: Final = 19
"""Digits of the largest tick."""

_FIRST_DATETIME: Final = -62_135_596_800_000_000
_LAST_DATETIME: Final = 253_402_300_799_999_999
"""The years 1 to 9999 in microseconds since the epoch, which is as far as Python's datetime goes."""


class StoredQuery(NamedTuple):
    """A query in a checkpoint, as a reader of its state needs it.

    Attributes:
        name: The name in a pass; otherwise the number, where a query whose results another one reads has the lower.
        evaluator: The evaluator that wrote the state.
        keys: The names of the key columns.
    """

    name: str
    evaluator: str
    keys: tuple[str, ...]


@in_session()
def read_state(spark: SparkSession, checkpoint: str | PathLike[str]) -> DataFrame:
    """Read the state of the queries of a checkpoint, as the last committed micro-batch left it.

    The queries themselves are not needed, nor are their modules: states are read as plain data, records as their
    fields. A query may run meanwhile, and goes on.

    Args:
        spark: The session that reads it.
        checkpoint: The checkpoint.

    Returns:
        A row for each event, waiting row, state of a module and result that may change, with these columns:

        | column | meaning |
        |---|---|
        | `query` | the number of the query, 0 unless several share the checkpoint; in one pass its name |
        | `bucket` | the bucket |
        | `kind` | what the row is, see below |
        | `key` | the key, as JSON by key column |
        | `start`, `end` | the row's lifetime, in the type of the input's times; null if it has none, or no end yet |
        | `input` | the input, of a join |
        | `partition` | the partition, of row windows |
        | `id` | the id of the event, if events have ids |
        | `module`, `version` | the module that keeps the state, with its columns and parameters, and its version |
        | `events` | the number of events in the state or the result |
        | `value` | the payload, the state or the result, as JSON; records as objects, bytes in hexadecimal |
        | `batch` | the micro-batch that wrote this part of the state last; null if that is not known |

        | kind | the row |
        |---|---|
        | `event` | an event that windows, or a join, may still need |
        | `filtered` | an event that `where` left out, kept because it may be revised |
        | `waiting` | a row that waits for others of its event; of a revision, `value` has the old and the new end |
        | `member` | a row in a row window |
        | `window` | the state of a module for a window that was emitted and may change |
        | `slice`, `slices`, `session` | a partial state: of a slice, an event in several slices, an open session |
        | `partition`, `key` | the state of a module for a partition of row windows, or for a key |
        | `trigger` | the state of the trigger of a window with early results |
        | `result` | a result that was emitted and may change |
        | `wake-up` | the time, in `start`, at which an operator wants to be called |
        | `watermark` | the key's own watermark, in `start`, if it is beyond that of the input |

        Each micro-batch adds partial states of its own. If only the module can combine them, as in the evaluator
        `sliced`, those that it has not combined yet are separate rows. If a plugin offers the kind of windows, that
        plugin has to be installed where the state is read.

    Raises:
        StateError: The checkpoint has no micro-batch yet, is closed or was moved, has no state of Muntin's, is damaged,
            or another version of Muntin wrote it.

    Cost: the state is read once by this call, to know its queries, and once more by each action on the DataFrame. The
    workers decode it, bucket by bucket.
    """
    stored_checkpoint = Checkpoint(spark, checkpoint)
    if stored_checkpoint.last_commit < 0:
        raise StateError(
            f"{checkpoint} has no micro-batch that was committed\n"
            "  expected: the checkpoint of a query, as in query.write(checkpoint=...) or checkpointLocation"
        )
    if stored_checkpoint.is_closed:
        raise StateError(
            f"the checkpoint {checkpoint} is closed: its last windows were emitted, and nothing is held any more\n"
            "  expected: the checkpoint of a stream that goes on"
        )
    stored_checkpoint.check_path()
    state = stored_checkpoint.state
    identities = state.identity_by_bucket()
    if not identities:
        raise StateError(
            f"the checkpoint {checkpoint} has no state of Muntin's\n"
            "  expected: the checkpoint of a Muntin query that keeps a state, see query.explain()"
        )
    queries = _queries_by_bucket(identities, stored_checkpoint.names)
    schema = _schema({str(identity["times"]) for identity in identities.values()})
    # Where Spark reads the cells by a temporary link, they have to be read before the link is removed.
    with state.every_cell() as (cells, must_be_read_now):
        reader = _reader(queries, arrow_schema_of(schema))
        rows = cells.groupBy("operator", "bucket").applyInArrow(reader, schema)
        return rows.localCheckpoint() if must_be_read_now else rows


def _queries_by_bucket(
    identities: Mapping[tuple[int, int], Mapping[str, Any]], names_of_pass: Sequence[str]
) -> dict[tuple[int, int], StoredQuery]:
    """Return the query of each bucket. Buckets of one operator with equal identities are of one query.

    Args:
        identities: The identity in the state of each bucket, by operator and bucket; operators are in the order in
            which rows pass them.
        names_of_pass: The names of the queries, if they are of one pass.
    """
    # The state has no numbers of queries. They are numbered in the order in which rows pass them: buckets of one
    # operator with different identities are of different queries.
    number_by_identity: dict[str, int] = {}
    number_by_bucket: dict[tuple[int, int], int] = {}
    for (operator, bucket), identity in identities.items():
        text = json.dumps([operator, identity], sort_keys=True)
        number_by_bucket[operator, bucket] = number_by_identity.setdefault(text, len(number_by_identity))

    # Two queries of a pass with the same identity count as one. Then there are more names than numbers, and it is not
    # known which name is whose: the numbers are the names.
    names = names_of_pass
    if len(names_of_pass) != len(number_by_identity):
        names = [str(number) for number in range(len(number_by_identity))]

    queries: dict[tuple[int, int], StoredQuery] = {}
    for operator_and_bucket, identity in identities.items():
        name = names[number_by_bucket[operator_and_bucket]]
        keys = tuple(name for name, _ in identity["keys"])  # each with its type
        queries[operator_and_bucket] = StoredQuery(name, identity["evaluator"], keys)
    return queries


def _schema(kinds_of_times: set[str]) -> spark_types.StructType:
    """Return the columns of the table that `read_state` returns.

    Args:
        kinds_of_times: The types of the times of the queries. If there are several, the columns have ticks.
    """
    text = spark_types.StringType()
    long = spark_types.LongType()
    time: spark_types.DataType = long
    if len(kinds_of_times) == 1:
        (kind,) = kinds_of_times
        # `decimal_places_of` takes the identity of a query, and reads its `times` alone. None unless the times are
        # decimals.
        decimal_places = decimal_places_of({"times": kind})
        if decimal_places is None:
            time = _TIMES.get(kind, long)
        else:
            time = spark_types.DecimalType(_DIGITS_OF_TICKS, decimal_places)
    columns: dict[str, spark_types.DataType] = {
        "query": text,
        "bucket": spark_types.IntegerType(),
        "kind": text,
        "key": text,
        "start": time,
        "end": time,
        "input": text,
        "partition": text,
        "id": text,
        "module": text,
        "version": text,
        "events": long,
        "value": text,
        "batch": long,
    }
    return spark_types.StructType([spark_types.StructField(name, data_type) for name, data_type in columns.items()])


def _reader(
    queries: Mapping[tuple[int, int], StoredQuery], schema: pa.Schema
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function for `applyInArrow`, which reads the state of one bucket.

    Args:
        queries: The query of each bucket, by operator and bucket.
        schema: The columns of the rows.

    Returns:
        A function of an operator and a bucket, and of a table with the cells of the bucket.
    """

    # It runs on a worker, so the modules that it needs are imported in it.
    def read(operator_and_bucket: tuple[Any, ...], table: pa.Table) -> pa.Table:
        """Return the rows of `read_state` for one bucket, given its operator and id, and its cells as a table."""
        from muntin_engine.state.bucket_reader import BucketReader
        from muntin_engine.state.cells import MemoryCells
        from muntin_engine.tasks.evaluator_registry import KEEPS_STATE

        operator, bucket = (number.as_py() for number in operator_and_bucket)
        query = queries.get((operator, bucket))
        if query is None:
            return (
                schema.empty_table()
            )  # the cells of no bucket: there a partition notes that micro-batches had no rows

        cells = MemoryCells()
        for name, data in zip(table.column("name").to_pylist(), table.column("data").to_pylist(), strict=True):
            cells.put(name, data)
        # The evaluator that wrote the state makes rows of it.
        reader = BucketReader(cells, f"bucket {bucket} of operator {operator}")
        rows = list(KEEPS_STATE[query.evaluator].state_rows(reader))

        # A row has an attribute for each column, except for those that are the same in all rows of a bucket.
        columns: dict[str, list[Any]] = {}
        for name in schema.names:
            columns[name] = [getattr(row, name, None) for row in rows]
        columns["query"] = [query.name] * len(rows)
        columns["bucket"] = [bucket] * len(rows)
        columns["key"] = [dict(zip(query.keys, row.key, strict=True)) for row in rows]
        for name in ("key", "partition", "id", "value"):
            columns[name] = [as_json(value) for value in columns[name]]  # text, as the queries have different types

        arrays: list[pa.Array] = []
        for column in schema:
            if column.name in ("start", "end"):
                arrays.append(_times(columns[column.name], column.type))
            else:
                arrays.append(pa.array(columns[column.name], column.type))
        return pa.table(arrays, schema=schema)

    return read


def _times(ticks: list[int | None], data_type: pa.DataType) -> pa.Array:
    """Return ticks as times of a type.

    None, and the ticks before and after all others, become null. Timestamps beyond the years of Python's datetime
    become the first or the last of these.
    """
    is_timestamp = pa.types.is_timestamp(data_type)
    times: list[int | None] = []
    for tick in ticks:
        if tick is None or tick in (EARLIEST, INFINITY):
            times.append(None)
        elif is_timestamp:
            times.append(max(_FIRST_DATETIME, min(tick, _LAST_DATETIME)))
        else:
            times.append(tick)
    return as_times(pa.array(times, pa.int64()), data_type)


def as_json(value: object) -> str | None:
    """Return a value as JSON; None for null.

    Example:
        >>> as_json({"seen": {2, 1}, "mean": Fraction(1, 2)}), as_json(None)
        ('{"seen": [1, 2], "mean": 0.5}', None)
    """
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return a value of a state in types that JSON has, such as lists and texts; any other value as its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Fraction):
        number = float(value)
        return number if isfinite(number) else str(number)
    if isinstance(value, Mapping):
        parts: dict[str, Any] = {}
        for name, part in value.items():
            text = name if isinstance(name, str) else str(_plain(name))
            parts[text] = _plain(part)
        return parts
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=json.dumps)  # by their texts, as values of several types have no order
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    try:
        return list(map(_plain, value))  # a list, a tuple or another collection
    except TypeError:
        return str(value)  # no collection
