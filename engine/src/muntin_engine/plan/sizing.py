"""A query under a load: what it holds, and the bytes of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final

from muntin import Axis, IntervalOperator, Merge
from muntin.axis import spell_ticks
from muntin.errors import QueryError
from muntin.progress import BoundedDelay, BoundedDisorder, Periodic, ProgressPolicy
from muntin.rows import CountPolicy, ElapsedPolicy
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.plan.choice import Arrivals, Geometry
from muntin_engine.plan.lengths import UNITS
from muntin_engine.plan.load import Load
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.planner import evaluator_of
from muntin_engine.plan.sizes import (
    BucketContents,
    Bytes,
    Sizes,
    ValueBytes,
    ValuesOf,
    memory_bytes,
    most_state_bytes,
    state_bytes,
)
from muntin_engine.state.kept_stores import MOST_BYTES

_SECOND: Final = 1_000_000
_TEXT: Final = 20
"""The bytes of a text, or of anything else whose length its type does not say."""

_WHOLE_NUMBER: Final = 4
"""The bytes of a whole number in a partial state, as many as it needs, if it is no larger than 4 billion."""

_STATE: Final = 16
"""The bytes of a Python state of which nothing is known."""

_WIDTHS: Final[Mapping[str, int]] = {
    "boolean": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "float": 4,
    "date": 4,
    "bigint": 8,
    "double": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
}


@dataclass(frozen=True, slots=True)
class Demand:
    """What a query holds under a load, over all buckets, when it holds most.

    Attributes:
        held: What one bucket holds.
        buckets: The buckets that hold anything.
        seconds: The event time of what is held; infinite if nothing is ever dropped.
        assumed: What was assumed besides the load.
    """

    held: BucketContents
    buckets: int
    seconds: float
    assumed: tuple[str, ...] = ()


def size_topics(plan: Plan, load: Load) -> list[tuple[str, str]]:
    """Return the lines of `explain` that say what a query takes under a load, each as its topic and text.

    Raises:
        QueryError: The times of the query do not measure time, or the lifetimes of its events are not known.
    """
    evaluator, rows = evaluator_of(plan), load.rows_per_second * load.every
    sized = f"{load.keys:,} keys and {load.rows_per_second:,.10g} rows per second"
    sized += f", a micro-batch every {spell_ticks(round(load.every * _SECOND))}"
    if not evaluator.keeps_state:
        return [("sized for", sized), ("held", "nothing between micro-batches"), ("batch", f"{rows:,.0f} rows")]
    sizes = evaluator.sizes(plan)
    if sizes is None:
        return [("sized for", sized), ("held", f"the sizes of {evaluator.name} are not known")]
    demand = demand_of(plan, load, sizes)
    return [
        ("sized for", "; ".join([sized, *demand.assumed])),
        ("held", _held(sizes, demand)),
        ("store", _stored(sizes, demand)),
        ("workers", _decoded(sizes, demand)),
        ("batch", f"{rows:,.0f} rows, {rows / demand.buckets:,.0f} in each bucket"),
    ]


def size_together(loads: Iterable[tuple[Plan, Load]]) -> list[tuple[str, str]]:
    """Return the lines of `explain` that say what queries of one pass take together; none if a size is not known.

    Raises:
        QueryError: As for `size_topics`, of one of them.
    """
    stored = most = decoded = 0.0
    for plan, load in loads:
        sizes = evaluator_of(plan).sizes(plan)
        if sizes is None:
            return []
        demand = demand_of(plan, load, sizes)
        stored += demand.buckets * state_bytes(sizes, demand.held)
        most += demand.buckets * most_state_bytes(sizes, demand.held)
        decoded += demand.buckets * memory_bytes(sizes, demand.held)
    return [
        ("store", f"{spell_bytes(stored)} of state of all queries; up to {spell_bytes(most)}"),
        ("workers", f"{spell_bytes(decoded)} of decoded state of all queries, which share what a worker keeps"),
    ]


def demand_of(plan: Plan, load: Load, sizes: Sizes) -> Demand:
    """Return what a query holds under a load.

    Raises:
        QueryError: The times of the query do not measure time, or the lifetimes of its events are not known.
    """
    delay, assumed = _delay(plan, load)
    values, told = values_of(plan, load, sizes.of)
    assumed = (*assumed, *told, "rows come evenly over time, and their keys at random")
    keys = load.keys if plan.keys else 1
    span, slices, rows = _span(plan, load, sizes, delay)
    buckets = min(plan.buckets, keys)
    if span == inf:
        assumed = (*assumed, "nothing is dropped: these are the rows of a day")
        span = 86_400.0
    rows = load.rows_per_second * span + rows * keys
    batches = max(1, ceil(span / load.every))
    key = ValueBytes(sum(_width(column.type) for column in plan.keys), len(plan.keys))
    held = BucketContents(keys / buckets, rows / buckets, key, values, slices, batches)
    return Demand(held, buckets, span, assumed)


def _span(plan: Plan, load: Load, sizes: Sizes, delay: float) -> tuple[float, float, float]:
    """Return the seconds for which rows count, the slices in these, and the rows that each key holds besides."""
    window, tick = plan.window, _seconds_of_a_tick(plan)
    lasting = _lifetime(plan, load) if any(not given.is_point for given in plan.inputs) else 0.0
    if plan.join is not None or window.cuts_at_edges():
        return lasting + delay, 1, 0
    if not plan.is_windowed:
        follows = any(isinstance(module.module, IntervalOperator) for module in plan.modules)
        return delay + (lasting if follows else 0), 1, 0
    if plan.rows is None and window.least_events > 1:
        return delay, 1, window.least_events
    if (gap := window.fuses_within()) is not None:
        return (load.lifetime or 0) + gap * tick + delay, 1, 0
    if plan.rows is None:
        return _span_of_windows(plan, tick, lasting, delay)
    evicts = getattr(plan.rows, "evicts", None)
    if not sizes.holds_rows:
        evicts = None
    length = evicts.length * tick if isinstance(evicts, ElapsedPolicy) else 0
    return delay + length, 1, evicts.size if isinstance(evicts, CountPolicy) else 0


def _span_of_windows(plan: Plan, tick: float, lasting: float, delay: float) -> tuple[float, float, float]:
    """Return the same of windows that are there before events."""
    arrays, window = plan.choice.arrays, plan.window
    if arrays is not None and (steps := window.growing()) is not None:
        # a running state of each key takes the place of all slices before
        return steps.hop * tick + delay, 2 + delay / (steps.hop * tick), 0
    longest = inf if window.keeps_all else tick * max(some.longest or 0 for some in plan.windows)
    if arrays is None:
        return longest + lasting + delay, 1, 0
    if arrays.arrivals is Arrivals.IDENTIFIED:
        return lasting + delay, 1, 0
    slices = SliceGrid.shared(plan.steps)
    if arrays.geometry is Geometry.RUNS:
        hop = longest * slices[0].stride / slices[0].slices
        return longest + lasting + delay, (longest + delay) / hop * (1 + lasting / hop), 0
    return longest + delay, (longest + delay) / longest * max(some.slices for some in slices), 0


def _delay(plan: Plan, load: Load) -> tuple[float, tuple[str, ...]]:
    """Return the seconds by which the watermark and allowed lateness are behind the newest row, and what was assumed.

    The furthest of several inputs, and of several sources, counts.
    """
    tick = _seconds_of_a_tick(plan)
    policies = [rule.progress for given in plan.inputs for rule in given.rules]
    policies += [given.progress for given in plan.inputs if not given.rules]
    delays = [_delay_of(policy, tick, load) for policy in policies]
    known = [delay for delay in delays if delay is not None]
    allowed = tick * max(given.late.allowed for given in plan.inputs)
    assumed = () if len(known) == len(delays) else ("punctuation is at the newest row",)
    return max(known, default=0.0) + allowed, assumed


def _delay_of(policy: ProgressPolicy, tick: float, load: Load) -> float | None:
    if isinstance(policy, BoundedDelay):
        return policy.delay * tick
    if isinstance(policy, Periodic):
        step = (policy.rows or 0) / load.rows_per_second if policy.span is None else policy.span * tick
        return policy.delay * tick + step
    return policy.rows / load.rows_per_second if isinstance(policy, BoundedDisorder) else None


def _lifetime(plan: Plan, load: Load) -> float:
    if load.lifetime is None:
        raise QueryError(
            f"events of {plan.spelled_grouping} last, and what is held depends on how long\n"
            "  say how long they last on average: explain(..., lifetime='30 seconds')"
        )
    return load.lifetime


def _seconds_of_a_tick(plan: Plan) -> float:
    if plan.axis is Axis.TIME:
        return 1 / _SECOND
    if plan.unit is None:
        raise QueryError(
            "the times of the query have no unit, so rows per second say nothing of its windows\n"
            "  name the unit if they are times: events(..., unit='ms')"
        )
    return UNITS[plan.unit] / UNITS["s"]


def values_of(plan: Plan, load: Load, of: ValuesOf) -> tuple[ValueBytes, tuple[str, ...]]:
    """Return the values of a row or a partial state, and what is said of them."""
    if of in (ValuesOf.COMPONENTS, ValuesOf.SINGLE):
        parts = [part for form in plan.forms for part in form.components().values() if part.is_lifted]
        sizes = [_size_of(part.dtype, part.is_exact and of is ValuesOf.COMPONENTS, part.shape) for part in parts]
        found, what = ValueBytes(sum(sizes), len(sizes)), "of values in a partial state"
        if any(part.merge is Merge.COLLECT for part in parts):
            what += ", and 8 more for each of its rows, which are not counted"
    elif of is ValuesOf.STATES:
        found, what = ValueBytes(_STATE * len(plan.modules), len(plan.modules)), "in a state, of which nothing is known"
    else:
        columns = [column for given in plan.inputs for column in given.columns.payload]
        each = [_width(column.type) for column in columns]
        inputs = len(plan.inputs)  # a row is of one of them
        found, what = ValueBytes(sum(each) / inputs, round(len(each) / inputs)), "of values in a row"
    if load.payload_bytes is not None:
        found = replace(found, size=load.payload_bytes)
    return found, (f"{found.size:,.10g} bytes {what}",)


def _size_of(dtype: str, is_exact: bool, shape: tuple[int, ...]) -> int:
    digits = "".join(letter for letter in dtype.partition("[")[0] if letter.isdigit())
    size = int(digits) // 8 if digits else 1
    if "int" in dtype:
        size = min(size, _WHOLE_NUMBER)
    for length in shape:
        size *= length
    return 2 * size if is_exact else size


def _width(kind: str) -> int:
    return _WIDTHS.get(kind, 16 if kind.startswith("decimal") else _TEXT)


def _held(sizes: Sizes, demand: Demand) -> str:
    held, buckets = demand.held, demand.buckets
    keys, rows = buckets * held.keys_in(held.batches), buckets * held.rows
    seconds = round(demand.seconds) if demand.seconds >= 1 else demand.seconds
    span = f" in {spell_ticks(round(seconds * _SECOND))}" if seconds else ""
    if sizes.state.row != Bytes():
        return f"{sizes.what}: {rows:,.0f} of {keys:,.0f} keys{span}"
    partials = buckets * held.stretches_in(held.batches)
    return f"{sizes.what}: {partials:,.0f} of {keys:,.0f} keys, from {rows:,.0f} rows{span}"


def _stored(sizes: Sizes, demand: Demand) -> str:
    least, most = state_bytes(sizes, demand.held), most_state_bytes(sizes, demand.held)
    why = "until entries are merged" if sizes.is_merged else "until the log is rewritten"
    total = demand.buckets
    return (
        f"{spell_bytes(least * total)} of state, {spell_bytes(least)} in each of {total} buckets; "
        f"up to {spell_bytes(most * total)} {why}"
    )


def _decoded(sizes: Sizes, demand: Demand) -> str:
    each = memory_bytes(sizes, demand.held)
    unknown = ", if states are small numbers and tuples" if sizes.of is ValuesOf.STATES else ""
    return (
        f"{spell_bytes(each * demand.buckets)} of decoded state in all, {spell_bytes(each)} a bucket{unknown}; "
        f"a worker keeps that of the buckets it ran last, up to {MOST_BYTES // 2**20} MB unless the session says "
        "otherwise"
    )


def spell_bytes(size: float) -> str:
    """Return a number of bytes in words, rounded to two digits or three.

    Example:
        >>> spell_bytes(812), spell_bytes(61_234), spell_bytes(1_940_000), spell_bytes(2.5e10)
        ('812 B', '61 KB', '1.9 MB', '25 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 10 * scale else f"{size / scale:,.0f} {unit}"
    return f"{size:.0f} B"
