"""The state in a checkpoint as a DataFrame: what its queries hold, without the queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
from muntin_engine.state.differences import places_of
from muntin_engine.wire.times import as_times

_TIMES: Final[Mapping[str, spark_types.DataType]] = {
    "timestamp": spark_types.TimestampType(),
    "timestamp_ntz": spark_types.TimestampNTZType(),
}
_DIGITS: Final = 19
_YEARS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The years 1 to 9999, which is as far as Python's datetime goes."""


class StoredQuery(NamedTuple):
    """A query in a checkpoint, as a reader of its state needs it.

    Attributes:
        name: Its name in a pass; otherwise its number, that of the query whose results others take being the least.
        evaluator: The evaluator that wrote the state.
        keys: The names of its key columns.
    """

    name: str
    evaluator: str
    keys: tuple[str, ...]


@in_session()
def read_state(spark: SparkSession, checkpoint: str | PathLike[str]) -> DataFrame:
    """Return what the queries of a checkpoint hold, as the last committed micro-batch left it.

    The queries themselves are not needed, nor are their modules: states are read as plain data, records as their
    fields. A query may run meanwhile, and goes on.

    Args:
        spark: The session that reads it.
        checkpoint: The checkpoint.

    Returns:
        A row for each event, row that waits, state of a module, and result that may change, with these columns:

        | column | meaning |
        |---|---|
        | `query` | the number of the query, 0 unless several share the checkpoint; in one pass its name |
        | `bucket` | the bucket |
        | `kind` | what the row is, see below |
        | `key` | the key, as JSON by key column |
        | `start`, `end` | its lifetime, in the type of the input's times; null where it has none, or no end yet |
        | `input` | the input, of a join |
        | `partition` | the partition, of row windows |
        | `id` | the id of the event, where events have ids |
        | `module`, `version` | the module that keeps the state, with its columns and parameters, and its version |
        | `events` | the number of events in it |
        | `value` | the payload, the state or the result, as JSON; records as objects, bytes in hexadecimal |
        | `batch` | the micro-batch that last wrote the part of the state it lies in; null where that is not known |

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
        | `watermark` | the key's own watermark, in `start`, where it is beyond that of the input |

        A micro-batch adds its own partial states. Where only the module knows how to combine them, as in the evaluator
        `sliced`, those that were not combined yet are rows of their own. Windows of a kind that a plugin offers need
        that plugin where the state is read.

    Raises:
        StateError: It has no micro-batch yet, is closed or was moved, has no state of Muntin's, is damaged, or another
            version of Muntin wrote it.

    Cost: the state is read once here, for what it is of, and once more by each action on the DataFrame; the workers
    decode it, bucket by bucket.
    """
    known = Checkpoint(spark, checkpoint)
    if known.last_commit < 0:
        raise StateError(
            f"{checkpoint} has no micro-batch that was committed\n"
            "  expected: the checkpoint of a query, as in query.write(checkpoint=...) or checkpointLocation"
        )
    if known.is_closed:
        raise StateError(
            f"the checkpoint {checkpoint} is closed: its last windows were emitted, and nothing is held any more\n"
            "  expected: the checkpoint of a stream that goes on"
        )
    known.check_place()
    state = known.state
    identities = state.by_bucket()
    if not identities:
        raise StateError(
            f"the checkpoint {checkpoint} has no state of Muntin's\n"
            "  expected: the checkpoint of a Muntin query that keeps a state, see query.explain()"
        )
    told = [json.dumps([operator, identity], sort_keys=True) for (operator, _), identity in identities.items()]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(told))}
    names = known.names if len(known.names) == len(numbers) else [*map(str, range(len(numbers)))]
    stored = {
        place: StoredQuery(names[numbers[text]], identity["evaluator"], tuple(name for name, _ in identity["keys"]))
        for (place, identity), text in zip(identities.items(), told, strict=True)
    }
    schema = _schema({str(identity["times"]) for identity in identities.values()})
    with state.every_cell() as (cells, is_lent):
        rows = cells.groupBy("operator", "bucket").applyInArrow(_reader(stored, arrow_schema_of(schema)), schema)
        return rows.localCheckpoint() if is_lent else rows


def _schema(times: set[str]) -> spark_types.StructType:
    """Return the columns of a state; times are ticks where queries count other things."""
    (only, *others), text = times, spark_types.StringType()
    places = places_of({"times": only})
    kind = _TIMES.get(only, spark_types.LongType()) if places is None else spark_types.DecimalType(_DIGITS, places)
    time = spark_types.LongType() if others else kind
    long = spark_types.LongType()
    columns: dict[str, spark_types.DataType] = {
        "query": text,
        "bucket": spark_types.IntegerType(),
        "kind": text,
        "key": text,
    }
    columns |= {"start": time, "end": time, "input": text, "partition": text, "id": text}
    columns |= {"module": text, "version": text, "events": long, "value": text, "batch": long}
    return spark_types.StructType([spark_types.StructField(name, kind) for name, kind in columns.items()])


def _reader(
    queries: Mapping[tuple[int, int], StoredQuery], schema: pa.Schema
) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function that reads the state of one bucket, whose cells are a table."""

    def read(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        from muntin_engine.state.bucket_reader import BucketReader
        from muntin_engine.state.cells import MemoryCells
        from muntin_engine.tasks.evaluator_registry import KEEPS_STATE

        operator, bucket = (part.as_py() for part in key)
        if (operator, bucket) not in queries:  # what a partition keeps of itself
            return schema.empty_table()
        query, cells = queries[operator, bucket], MemoryCells()
        for name, data in zip(table.column("name").to_pylist(), table.column("data").to_pylist(), strict=True):
            cells.put(name, data)
        stored = BucketReader(cells, f"bucket {bucket} of operator {operator}")
        rows = list(KEEPS_STATE[query.evaluator].state_rows(stored))
        columns = {name: [getattr(row, name, None) for row in rows] for name in schema.names}
        columns |= {"query": [query.name] * len(rows), "bucket": [bucket] * len(rows)}
        columns["key"] = [dict(zip(query.keys, row.key, strict=True)) for row in rows]
        columns |= {name: list(map(as_json, columns[name])) for name in ("key", "partition", "id", "value")}
        arrays = [
            _times(columns[part.name], part) if part.name in ("start", "end") else columns[part.name] for part in schema
        ]
        return pa.table(
            [pa.array(values, part.type) for values, part in zip(arrays, schema, strict=True)], schema=schema
        )

    return read


def _times(ticks: list[Any], column: pa.Field) -> pa.Array:
    """Return ticks as times of a column; those before and after all others are null."""
    known = [None if tick in (EARLIEST, INFINITY) else tick for tick in ticks]
    if pa.types.is_timestamp(column.type):
        first, last = _YEARS
        known = [None if tick is None else max(first, min(tick, last)) for tick in known]
    return as_times(pa.array(known, pa.int64()), column.type)


def as_json(value: object) -> str | None:
    """Return a value as JSON; null as None.

    Example:
        >>> as_json({"seen": {2, 1}, "mean": Fraction(1, 2)}), as_json(None)
        ('{"seen": [1, 2], "mean": 0.5}', None)
    """
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Fraction):
        number = float(value)
        return number if isfinite(number) else str(number)
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(_plain(name)): _plain(part) for name, part in value.items()}
    if isinstance(value, set | frozenset):
        parts = list(map(_plain, value))
        return sorted(parts, key=json.dumps)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | datetime):
        return value.isoformat(*([" "] if isinstance(value, datetime) else []))
    try:
        return list(map(_plain, value))
    except TypeError:
        return str(value)
