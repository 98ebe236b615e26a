"""A stream of events: which columns make rows events, and what says how complete they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muntin import Duration, Lateness, LatePolicy, ProgressPolicy, Punctuated, QueryError, bounded_delay
from muntin.lateness import parse_lateness
from muntin_engine.api.arguments import check_dataframe, check_each, check_flag, check_progress, key_columns
from muntin_engine.api.query import EventStream
from muntin_engine.plan import check_buckets, check_columns, check_sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.api.request import ColumnLike


def events(  # noqa: PLR0913  # each names a column that only some streams have
    df: DataFrame,
    *,
    key: ColumnLike | Sequence[ColumnLike] | None = None,
    id: ColumnLike | None = None,
    order: ColumnLike | None = None,
    start: ColumnLike | None = None,
    end: ColumnLike | None = None,
    at: ColumnLike | None = None,
    edge: bool = False,
    change: ColumnLike | None = None,
    new_end: ColumnLike | None = None,
    signal: ColumnLike | None = None,
    delay: Duration | None = None,
    progress: ProgressPolicy | None = None,
    source: ColumnLike | None = None,
    sources: Sequence[str] = (),
    late: Lateness | LatePolicy | str = LatePolicy.SIDE,
    buckets: int = 16,
    unit: str | None = None,
) -> EventStream:
    """Say which columns of a DataFrame make its rows events.

    Times are timestamps, or integers or decimals for an axis of any other kind; all of one query are of one kind. Where
    they are decimals, a point lasts one in the last place, and lengths are numbers such as 5 or `Decimal("0.25")`.

    Args:
        df: A streaming DataFrame, or a static one, which is a stream that has ended.
        key: One column to group by, or several; windows, modules and results are per key. A null in one is a key like
            any other. None: all rows are one group.
        id: Names an event within its key, so that it may be revised, and a duplicate be noticed.
        order: Says which of two rows of one time comes first, for windows that follow rows, such as `last(10)`: an
            offset, a sequence number. Null comes first. Other windows do not read it.
        start: Where an event's lifetime starts.
        end: Where it ends; null while that is not known. In a revision, the end so far, or null for "whatever it is".
        at: Instead of `start` and `end`, the time of a point event.
        edge: With `at`: each event is a sample that lasts until the next sample of its key. Samples cannot be revised.
        change: What a row does: `"insert"`, `"revise"` (a new end), `"retract"` (delete the event), `"punctuate"`
            (nothing before its `start`, or `at`, will change any more, of no key; the other columns do not matter),
            `"punctuate_key"` (the same for the row's key alone, if the progress policy has key punctuation), `"clock"`
            (it is now its `start`, or `at`), `"signal"` (an external event for triggers of early results, of no time or
            key) or `"close"` (the stream has ended). Without it every row is an insertion.
        new_end: The new end in a revision.
        signal: The name of a signal.
        delay: Short for `progress=bounded_delay(delay)`.
        progress: What says how complete the input is, besides rows of punctuation, which always do. For example
            `bounded_delay("10 minutes")` or `bounded_disorder(rows=100)`.
        source: Names the source of a row. The input is then as complete as the least complete of its sources, and rows
            of watermark speak for their source; those without a source speak for all.
        sources: The sources that are waited for, all there are. Rows of another one are rejected.
        late: What becomes of a row that comes behind the watermark: `"side"`, `"drop"`, `"adjust"` or, for example,
            `correct("1 hour")`.
        buckets: Over how many buckets keys are spread; 1 to 256. A checkpoint remembers it. Without keys there is one.
        unit: Where times are integers that count `"s"`, `"ms"`, `"us"` or `"ns"`: which of these. All lengths are then
            given as time, such as `"10 minutes"`, and results have times in the same unit.

    Raises:
        QueryError: The columns do not make events, for example neither `start` nor `at` is given; or there is a delay
            and another policy.
        PolicyError: The delay is negative, or the text of a policy names none.
        DurationError: The delay cannot be read.
    """
    check_dataframe("events", df)
    keys = key_columns(key)
    begins = start if at is None else at
    roles = {"start": start, "end": end, "at": at, "id": id, "change": change, "new_end": new_end, "signal": signal}
    check_each({**roles, "source": source, "order": order})
    check_flag("edge", edge)
    check_progress(progress)
    check_columns({name for name, column in roles.items() if column is not None}, is_edge=edge)
    assert begins is not None
    if delay is not None and progress is not None:
        raise QueryError(f"a delay is a progress policy of its own: give delay={delay!r} or progress={progress!r}")
    check_buckets(buckets)
    check_sources(source, sources)
    return EventStream(
        df=df,
        keys=keys,
        id=id,
        order=order,
        start=begins,
        end=end,
        is_edge=edge,
        change=change,
        new_end=new_end,
        signal=signal,
        source=source,
        sources=tuple(sources),
        progress=progress or (Punctuated() if delay is None else bounded_delay(delay)),
        late=parse_lateness(late),
        buckets=buckets,
        unit=unit,
    )
