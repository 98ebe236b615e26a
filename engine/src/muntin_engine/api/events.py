"""A stream of events: the columns that make rows events, and the progress policy that makes the watermark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

from muntin import Duration, Lateness, LatePolicy
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call
from muntin.policies import parse_lateness
from muntin.progress import ProgressPolicy, Punctuated, bounded_delay
from muntin_engine.api.arguments import (
    check_dataframe,
    check_each_column,
    check_flag,
    key_columns,
    order_columns,
    spelled,
)
from muntin_engine.api.input_types import DeclaredColumns, FrameT
from muntin_engine.api.query import EventStream
from muntin_engine.backends.choosing import backend_of, declared_schema
from muntin_engine.plan import check_buckets, check_columns, check_sources
from muntin_engine.plan.steps import step

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


@step
def events(  # noqa: PLR0913  # each names a column that only some streams have
    df: FrameT,
    *,
    key: ColumnLike | Sequence[ColumnLike] | None = None,
    id: ColumnLike | None = None,
    order: ColumnLike | Sequence[ColumnLike] | None = None,
    start: ColumnLike | None = None,
    end: ColumnLike | None = None,
    at: ColumnLike | None = None,
    edge: bool = False,
    change: ColumnLike | None = None,
    key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]] = MappingProxyType({}),
    new_end: ColumnLike | None = None,
    signal: ColumnLike | None = None,
    rows: ColumnLike | None = None,
    watermark: Duration | ProgressPolicy | None = None,
    source: ColumnLike | None = None,
    sources: Sequence[str] = (),
    late_policy: Lateness | LatePolicy | str = LatePolicy.SIDE,
    buckets: int = 16,
    unit: str | None = None,
    schema: DeclaredColumns | None = None,
) -> EventStream[FrameT]:
    """Make events of the rows of a DataFrame.

    Times are timestamps; on an axis other than time they are integers or decimals. All times of a query are of one
    kind. With decimals a point lasts one unit of the last place, and lengths are numbers such as 5 or
    `Decimal("0.25")`; the times of results are `decimal(19, s)`, with the scale `s` of the column.

    A column is given by its name, by a path into a struct such as `"position.lat"`, or as an expression in Spark's SQL
    such as `"km / 1.6"`: text with an operator in it is an expression, unless a column has that name. Over a DataFrame
    of Spark's it may also be a column of PySpark's.

    Args:
        df: A streaming DataFrame, or a static one, which is a stream that has ended: nothing in it is late, and every
            window is final. A table in this process is static too, and its query needs no Spark: a data frame of pandas
            or Polars, a relation of DuckDB, Arrow data, or the path of files of Parquet, CSV or JSON.
        key: One column to group by, or several; windows, modules and results are per key. Null is a key like any
            other, and so is NaN; 0.0 and -0.0 are one key, as in Spark. Text with a collation is refused, here and as
            `id` or `order`: for keys that ignore case write `F.lower(F.collate("k", "UTF8_BINARY"))`. None: all rows
            are one group.
        id: The id of an event within its key, so that it can be revised and duplicates are rejected. It may be of any
            type: NaN equals itself, 0.0 equals -0.0, and maps are equal whatever the order of their entries.
        order: The order of rows of the same time, such as an offset or a sequence number. Row windows such as
            `last(10)`, stream operators, modules that depend on the order, such as `stats.last`, and samples read it;
            other queries do not. Of several columns the first decides, and the next one where that is equal. Null comes
            first.
        start: The start of an event's lifetime.
        end: The end of the lifetime; null while it is not known. In a row that revises an event it is the old end of
            the event, or null whatever that is.
        at: The time of a point event, instead of `start` and `end`.
        edge: With `at`: each event is a sample that lasts until the next sample of its key. If a key has several
            samples at one time, the last by `order` counts, in whatever order and micro-batches they arrive. If they
            are equal in order, or without `order`, the greatest counts, by the values of the columns that the query
            reads, compared one after the other, null first and NaN last. The others are rejected rows with the reason
            `replaced`. Samples cannot be revised.
        change: The kind of a row. By default every row is an insertion. `"insert"`; `"revise"` gives an event a new
            end; `"retract"` deletes an event; `"punctuate"` advances the watermark to its `start`, or `at`: no key
            changes before that time any more; `"punctuate_key"` does so for the row's key alone, if the progress policy
            has key punctuation; `"punctuate_keys"` does so for all keys with the values of its key columns, where null
            stands for any value; `"clock"` is a processing-time reading, in `start` or `at`; `"signal"` is an external
            event for triggers of early results, without time and key; `"close"` ends the stream.
        key_ranges: Ranges of keys in `"punctuate_keys"` rows: by the name of a key column, a pair of columns. A row
            whose key is null there stands for the keys from the value of the first column on and below that of the
            second. A null in such a column means that the range has no bound on this side; so does None in the place of
            the column.
        new_end: The new end in a row that revises an event.
        signal: The name of a signal, in a row that is one.
        rows: A condition, as text or as a column. The stream ignores rows that do not match, punctuation too, as with
            `df.where(...)`. Queries of `one_pass` share a DataFrame, and may read different rows of it.
            `EventStream.where` tests events instead.
        watermark: The delay of the watermark behind the newest event, such as `"10 minutes"`; or another progress
            policy, such as `bounded_disorder(rows=100)`. None: only punctuation rows advance it, as they do under every
            policy. A stream needs one of these, or a heartbeat, since no window would ever be final without. Do not
            call Spark's `withWatermark` on the input: it drops late rows before Muntin sees them.
        source: The source of a row. The watermark is then the least of the watermarks of all sources. A punctuation row
            counts for its source, or for all sources if it has none.
        sources: All sources. Rows of any other source are rejected.
        late_policy: The policy for late rows: `"side"`, `"drop"`, `"adjust"` or, for example, `correct("1 hour")`.
        buckets: The number of buckets over which keys are spread, 1 to 256; without keys there is one. The checkpoint
            stores it.
        unit: The unit of times that are integers: `"s"`, `"ms"`, `"us"` or `"ns"`. All lengths are then given as time,
            such as `"10 minutes"`, and results have times in the same unit.
        schema: The columns of the DataFrame, so that a query is planned without asking Spark for them: in a function of
            a declarative pipeline Spark does not answer. They are text in Spark's DDL, such as `"station string, at
            timestamp, km double"`, a `StructType`, a `pyarrow.Schema`, or the dataclass, named tuple or typed dict that
            a module declares for its rows; there an int is a bigint, and a float a double. The stream then has these
            columns and no others, and all columns are text: names, or expressions that are known without Spark too.
            Where the columns can be seen at once, in this process and in a classic session, they are compared with the
            declared ones by this call. On Spark Connect the query fails on the first row if a column is of another
            type. Whether a column may be null is not compared.

    Raises:
        QueryError: The columns do not make events, for example neither `start` nor `at` is given; the DataFrame has no
            such key; `key_ranges` names a column that is no key, or bounds of another type; `rows` is not a condition;
            or `schema` declares no columns, or other columns than the DataFrame has.
        PolicyError: The watermark's delay is negative, or `late_policy` names no policy.
        DurationError: The watermark's delay cannot be read.
        SetupError: There is a `schema`, and DuckDB or sqlglot are not installed.

    Example:
        >>> import pyarrow
        >>> table = pyarrow.table({"station": ["a", "b"], "km": [1.5, 2.0], "at": [0, 1]})
        >>> events(table, key="station", at="at", schema="station string, at bigint, km float")
        Traceback (most recent call last):
        muntin.errors.QueryError: schema= declares 'km' as float, and in the input it is double
          declare it as it is, or cast it before events()
    """
    # Checks of the arguments themselves. They come first, as checks of the columns may have to call Spark.
    check_dataframe("events", df)
    inputs = backend_of(df).inputs
    declared_columns = None if schema is None else declared_schema(schema)
    df = inputs.opened(df, declared_columns)
    keys = key_columns(key)
    time_column = start if at is None else at
    roles = {"start": start, "end": end, "at": at, "id": id, "change": change, "new_end": new_end, "signal": signal}
    check_each_column({**roles, "source": source})
    row_order = order_columns(order)
    check_flag("edge", edge)
    progress = _progress_of(watermark)
    named_roles = {role for role, column in roles.items() if column is not None}
    check_columns(named_roles, is_edge=edge)
    assert time_column is not None, "check_columns refuses events without a time"
    check_buckets(buckets)
    check_sources(source, sources)

    # Checks of the columns that the input has.
    condition = None
    if rows is not None:
        condition = inputs.condition(df, rows, call="rows({})")
    inputs.check_columns(df, keys, row_order)
    ranges: Mapping[str, ColumnLike] = {}
    if key_ranges:
        _check_ranges(key_ranges, progress)
        ranges = inputs.key_ranges(df, keys, key_ranges)
    return EventStream(
        df=df,
        keys=keys,
        id=id,
        order=row_order,
        start=time_column,
        end=end,
        is_edge=edge,
        change=change,
        new_end=new_end,
        signal=signal,
        ranges=ranges,
        rows=condition,
        source=source,
        sources=tuple(sources),
        progress=progress,
        late=parse_lateness(late_policy),
        buckets=buckets,
        unit=unit,
    )


def _progress_of(watermark: object) -> ProgressPolicy:
    """Return the progress policy that the argument `watermark` of `events` stands for.

    Args:
        watermark: A progress policy, a delay of the watermark behind the newest event, or None if only rows of
            punctuation advance the watermark.

    Raises:
        QueryError: The argument is something else.
        PolicyError: The delay is negative.
        DurationError: The delay cannot be read.
    """
    if watermark is None:
        return Punctuated()
    if isinstance(watermark, ProgressPolicy):
        return watermark
    if isinstance(watermark, bool) or not isinstance(watermark, int | str | timedelta | Decimal):
        raise QueryError(
            "watermark={written} is neither a delay nor a progress policy\n"
            "  expected, for example, {delay} or {policy}",
            argument="watermark",
            value=watermark,
            written=spelled(watermark),
            delay=Argument("watermark", "10 minutes"),
            policy=Argument("watermark", Call("bounded_disorder", Argument("rows", 100))),
        )
    return bounded_delay(watermark)


def _check_ranges(key_ranges: object, progress: ProgressPolicy) -> None:
    """Raise unless the argument `key_ranges` of `events` is a mapping whose values are pairs of columns.

    The names in it, which are those of keys, are checked later, by the input.

    Args:
        key_ranges: The argument.
        progress: The progress policy of the stream, which has to allow punctuation of single keys.

    Raises:
        QueryError: The argument is something else, or the progress policy has no key punctuation.
    """
    example = "key_ranges={'sensor': ('first_sensor', 'end_sensor')}"
    if not isinstance(key_ranges, Mapping):
        raise QueryError(f"key_ranges={spelled(key_ranges)} is not a mapping\n  expected, for example, {example}")
    for name, limits in key_ranges.items():
        if not isinstance(limits, tuple | list) or len(limits) != 2:
            raise QueryError(f"key_ranges of {name!r} are {spelled(limits)}\n  expected two columns: {example}")
        for limit in limits:  # None: the range has no bound on this side
            check_each_column({f"key_ranges of {name!r}": limit})
    if not progress.by_key:
        raise QueryError(
            "key_ranges bounds keys in rows of punctuation, and the progress policy has no key punctuation\n"
            "  add it, for example watermark=punctuated().with_key_punctuation()"
        )
