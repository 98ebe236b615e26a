"""The metrics that a streaming query reports in every micro-batch: names, units, and totals over buckets."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from muntin import EmitPolicy
from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan_words import spell_windows


class Total(StrEnum):
    """The way in which the values of a metric in several buckets become one value."""

    SUM = "sum"
    LEAST = "min"
    LARGEST = "max"


class Unit(StrEnum):
    """The unit of a metric."""

    ROWS = "rows"
    KEYS = "keys"
    WINDOWS = "windows of keys"
    EXTENTS = "windows"  # each counted once, however many keys have results of it
    EVENTS = "events"
    BYTES = "bytes"
    TICKS = "ticks"
    VALUES = "values"
    MICROSECONDS = "microseconds"


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that a query reports.

    Attributes:
        name: The name of the metric among those that are observed.
        unit: The unit that it counts.
        total: The way in which the values of several buckets become one.
        is_level: True for a gauge: its value is that after the batch, and null when no bucket reports. False for a
            counter: its value is that of the batch, and zero when no bucket reports.
    """

    name: str
    unit: Unit
    total: Total = Total.SUM
    is_level: bool = False


STAGES: Final = ("distribute", "lift", "intake", "evaluate", "encode")
"""The phases of a batch, in order: the first two run where the rows are, the others in the buckets."""

TIME_AXIS: Final = "time_axis"
"""The name of a constant: 1 if ticks are microseconds since the epoch, 0 if they are anything else that grows."""

WAITS_FOR_ENDS: Final = "waits_for_ends"
"""The name of a constant: 1 if windows may stay open as long as an event in them has no end."""

UNREAD: Final = {"late": "unread_late", "rejected": "unread_rejected"}
"""The names of constants by side output: 1 if nothing takes its rows, else 0."""

_STAGE: Final = "{}_us"
_WATERMARK: Final = "watermark_"
_MODULE: Final = "module_us:"
_SKIPPED: Final = "skipped:"
_OVERFLOWS: Final = "overflows:"

METRICS: Final = (
    Metric("accepted", Unit.ROWS),
    Metric("late", Unit.ROWS),
    Metric("late_by", Unit.TICKS, Total.LARGEST, is_level=True),
    Metric("shed", Unit.ROWS),
    Metric("rejected", Unit.ROWS),
    Metric("filtered", Unit.ROWS),
    Metric("results", Unit.ROWS),
    Metric("evicted", Unit.ROWS),
    Metric("retractions", Unit.ROWS),
    Metric("early", Unit.ROWS),
    Metric("keys", Unit.KEYS),
    Metric("windows_closed", Unit.WINDOWS),
    Metric("keys_forgotten", Unit.KEYS),
    Metric("windows_open", Unit.EXTENTS, Total.LARGEST, is_level=True),
    Metric("windows_revisable", Unit.WINDOWS, is_level=True),
    Metric("partitions_held", Unit.WINDOWS, is_level=True),
    Metric("keys_held", Unit.KEYS, is_level=True),
    Metric("events_held", Unit.EVENTS, is_level=True),
    Metric("state_bytes", Unit.BYTES, is_level=True),
    Metric("bytes_written", Unit.BYTES),
    Metric("watermark", Unit.TICKS, Total.LEAST, is_level=True),
    Metric("output_watermark", Unit.TICKS, Total.LEAST, is_level=True),
    Metric("newest", Unit.TICKS, Total.LARGEST, is_level=True),
    Metric("clock", Unit.MICROSECONDS, Total.LARGEST, is_level=True),
    *(Metric(_STAGE.format(stage), Unit.MICROSECONDS) for stage in STAGES),
)
"""The metrics that queries report, besides those by module, by source and by result column."""

LEVELS: Final = frozenset(metric.name for metric in METRICS if metric.is_level)
"""The names of the gauges."""

_NAMES: Final = frozenset(metric.name for metric in METRICS)

_TIMES: Final = frozenset(map(_STAGE.format, STAGES))


def stage_metric(stage: str) -> str:
    """Return the name of the metric of a stage's time."""
    return _STAGE.format(stage)


def module_metric(label: str) -> str:
    """Return the name of the metric of a module's time.

    Example:
        >>> module_metric("delay_p90"), module_of("module_us:delay_p90"), module_of("accepted")
        ('module_us:delay_p90', 'delay_p90', None)
    """
    return _MODULE + label


def module_of(metric: str) -> str | None:
    """Return the label of the module whose time a metric measures; None if it is another metric."""
    return metric.removeprefix(_MODULE) if metric.startswith(_MODULE) else None


def watermark_metric(source: str) -> str:
    """Return the name of the metric of the watermark of a source, or of an input where there are several."""
    return _WATERMARK + source


def of_sources(metrics: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the metrics of a kind that are kept by source or by input, by the names of these.

    Args:
        metrics: All metrics of a query by their names.
        kind: The kind: `rows`, `late` or `watermark`.

    Example:
        >>> of_sources({"rows_web": 3, "late_web": 1, "late_by": 7, "accepted": 3}, "late")
        {'web': 1}
    """
    prefix = f"{kind}_"
    metrics_of_sources = {}
    for name, value in metrics.items():
        is_of_whole_query = name in _NAMES  # such as `late_by`, which no source has as its name
        if name.startswith(prefix) and not is_of_whole_query:
            metrics_of_sources[name.removeprefix(prefix)] = value
    return metrics_of_sources


def skipped_metric(label: str) -> str:
    """Return the name of the metric that counts the rows that a module skips, as it does not accept a null in them.

    Example:
        >>> skipped_metric("total"), skipped_by("skipped:total"), skipped_by("accepted")
        ('skipped:total', 'total', None)
    """
    return _SKIPPED + label


def skipped_by(metric: str) -> str | None:
    """Return the label of the module whose skipped rows a metric counts; None if it is another metric."""
    return metric.removeprefix(_SKIPPED) if metric.startswith(_SKIPPED) else None


def overflow_metric(column: str) -> str:
    """Return the name of the metric that counts the results that a result column could not hold.

    Example:
        >>> overflow_metric("total"), overflowing_column("overflows:total"), overflowing_column("accepted")
        ('overflows:total', 'total', None)
    """
    return _OVERFLOWS + column


def overflowing_column(metric: str) -> str | None:
    """Return the result column whose overflows a metric counts; None if it is another metric."""
    return metric.removeprefix(_OVERFLOWS) if metric.startswith(_OVERFLOWS) else None


def is_count(metric: str) -> bool:
    """Return True for a counter that is no duration: its values over batches can be added up.

    Example:
        >>> is_count("windows_closed"), is_count("rows_web"), is_count("newest"), is_count("module_us:km")
        (True, True, False, False)
        >>> is_count("watermark_web"), is_count("output_watermark")
        (False, False)
    """
    is_time = metric in _TIMES or module_of(metric) is not None
    return not is_level(metric) and not is_time


def is_level(metric: str) -> bool:
    """Return True for a gauge, which is reported where it is 0 too.

    Example:
        >>> is_level("watermark_web"), is_level("evaluate_us"), is_level("accepted")
        (True, False, False)
    """
    return metric in LEVELS or metric.startswith(_WATERMARK)


def metrics_of(plan: Plan, *, is_timed: bool = True) -> Sequence[Metric]:
    """Return the metrics that a query reports.

    Args:
        plan: The query.
        is_timed: False to leave out times.
    """
    absent = _unreported_metrics(plan)
    if not is_timed:
        absent |= {stage_metric(stage) for stage in STAGES}
    metrics = [metric for metric in METRICS if metric.name not in absent]

    # A join returns columns of its inputs as they are, so its results do not overflow.
    if plan.join is None:
        # Both outputs may have a column of one name, which has one metric: so the names are collected as the keys of a
        # dict, which keeps their order, as a set would not.
        columns: dict[str, None] = {}
        for field in (*plan.outputs, *plan.evicted):
            if _may_overflow(field):
                columns[field.name] = None
        metrics += [Metric(overflow_metric(column), Unit.VALUES) for column in columns]
    for module in plan.modules:
        if module.skips_rows:
            metrics.append(Metric(skipped_metric(module.metric_label), Unit.ROWS))
    if is_timed:
        metrics += [Metric(module_metric(module.metric_label), Unit.MICROSECONDS) for module in plan.modules]
    return metrics


def _unreported_metrics(plan: Plan) -> set[str]:
    """Return the names of metrics that a query does not report.

    These are the metrics that its evaluator cannot report, and those that would always be 0 or null for this query.
    """
    absent = set(plan.choice.unreported)
    if not any(input.columns.conditions or input.changes_lifetimes for input in plan.inputs):
        absent.add("filtered")
    if all(input.most_held is None for input in plan.inputs):
        absent.add("shed")
    if not plan.evicted:
        absent.add("evicted")
    if plan.emission is EmitPolicy.FINAL:  # `plan.emit` is final too where late rows correct results
        absent.add("windows_revisable")
    if plan.early is None:
        absent.add("early")
    if not any(input.may_read_clock for input in plan.inputs):
        absent.add("clock")
    if plan.forget_keys_after is None:
        absent.add("keys_forgotten")
    if plan.rows is None or plan.rows.partition_by is None:
        absent.add("partitions_held")
    # This metric counts the windows of all keys together. Only windows of a grid are the same for all keys.
    if any(window.grid() is None for window in plan.windows):
        absent.add("windows_open")
    return absent


def _may_overflow(field: Field) -> bool:
    """Return True if a module can return a value that a result column of its type cannot hold."""
    data_type = field.type
    if isinstance(data_type, Scalar):
        return data_type.kind in _UNBOUNDED
    if isinstance(data_type, ListOf):
        return _may_overflow(data_type.element)
    if isinstance(data_type, MapOf):
        return _may_overflow(data_type.value)  # a key that its column cannot hold is refused
    if isinstance(data_type, Struct):
        return any(map(_may_overflow, data_type.fields))
    return True  # a type that only the backend knows


def waits_for_open_ends(plan: Plan) -> bool:
    """Return True if windows may stay open as long as an event in them has no end.

    Snapshots and the like end where events do; other windows wait for ends that a module may still see.
    """
    if plan.join is not None or plan.rows is not None:
        return False  # neither joins nor row windows have windows that events with open ends hold open
    if any(window.waits_for_events for window in plan.windows) and not plan.input.is_point:
        return True
    return plan.waits_for_ends


_UNBOUNDED: Final = frozenset(
    {ScalarKind.INTEGER, ScalarKind.FLOAT, ScalarKind.DECIMAL, ScalarKind.INTERVAL, ScalarKind.INSTANT}
)
"""The kinds of which a module can return values that no column holds."""

_SEPARATOR: Final = " # "
"""The separator of the parts of a name that `reported_name` makes."""


def reported_name(metrics_name: str, plan: Plan, source: str) -> str:
    """Return the name under which a query reports its metrics, if its writer gave it none.

    Several such queries may run in one Spark session, which needs different names for their metrics. So the name
    consists of three parts: the name that all such queries share, the windows, and a hash of the query.

    Args:
        metrics_name: The name that all queries without a name of their own share, such as `muntin`.
        plan: The query.
        source: A text that tells its input from those of other queries.
    """
    # The hashes of code are left out, so that the name stays when code changes under an unchanged version.
    identity = plan_identity(plan) | {"code": ()}
    digest = hashlib.sha256(json.dumps([identity, source], default=str).encode()).hexdigest()
    return _SEPARATOR.join([metrics_name, spell_windows(plan), digest[:8]])


def shown_names(reported: Iterable[str]) -> dict[str, str]:
    """Return a short name of each query to show to people, by the name under which the query reports its metrics.

    A name that `reported_name` made has three parts. Its short name is the first of them, if no other query has the
    same. Otherwise it is the first two parts, if these differ from those of all others, or else all three.

    Example:
        >>> shown_names(["muntin # tumbling('1 day') # 3f", "mine"])
        {"muntin # tumbling('1 day') # 3f": 'muntin', 'mine': 'mine'}
        >>> list(shown_names(["muntin # tumbling('1 day') # 3f", "muntin # snapshot() # 07"]).values())
        ["muntin tumbling('1 day')", 'muntin snapshot()']
    """
    parts_of = {name: name.split(_SEPARATOR) for name in reported}
    shown: dict[str, str] = {}
    for part_count in (1, 2, 3):
        # Queries that have a short name already keep it; each of the others tries its first `part_count` parts.
        candidates = {}
        for name, parts in parts_of.items():
            if name not in shown:
                candidates[name] = " ".join(parts[:part_count])
        uses = Counter([*shown.values(), *candidates.values()])
        for name, candidate in candidates.items():
            if uses[candidate] == 1:
                shown[name] = candidate
    return {name: shown.get(name, name) for name in parts_of}
