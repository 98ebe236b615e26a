"""Rows in are accepted, late, rejected, shed or left out by a filter once nothing waits, whatever they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    EmitPolicy,
    JoinKind,
    Lateness,
    LatePolicy,
    OutputContract,
    Refinement,
    TimestampPolicy,
    correct,
    early,
    session,
    snapshot,
    tumbling,
)
from muntin.rows import batch, last
from muntin.triggers import every_count
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key, Progress, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.lives.run import LivesBucket
from muntin_engine.evaluators.joins.bucket import JoinBucket
from muntin_engine.evaluators.joins.key_state import JoinQuery
from muntin_engine.evaluators.ordered.run import RowsBucket, StreamBucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.build import query
from tests.operators.streams import plan_of
from tests.rows.engine import plan_of_rows
from tests.sdk.stream_operators import Silence


class Rows(NamedTuple):
    """A micro-batch: rows of a key, and the watermark after it."""

    rows: Sequence[InputChange]
    watermark: int


def batches(random: Random, width: int, *, has_ids: bool = True, lasts: bool = True, sides: int = 1) -> list[Rows]:
    """Return rows of few ids, starts and ends, so that they meet, and many that break the rules; the last one closes.

    Args:
        random: Draws them.
        width: The number of values in a payload.
        has_ids: True if there are revisions.
        lasts: True if events may last more than a tick.
        sides: The number of inputs.
    """
    found, watermark = list[Rows](), EARLIEST
    for _ in range(random.randint(1, 6)):
        rows = [
            _row(random, width, has_ids, lasts, random.randrange(sides)) for _ in range(random.choice((0, 1, 4, 7)))
        ]
        watermark = max(watermark, random.choice((EARLIEST, random.randint(0, 14))))
        found.append(Rows(rows, watermark))
    return [*found, Rows([], INFINITY)]


def _row(random: Random, width: int, has_ids: bool, lasts: bool, side: int) -> InputChange:
    id, start = random.choice(("x", "y")) if has_ids else None, random.choice((0, 1, 4, 9))
    ends, payload = [start + 1, *([start + 3, 12, INFINITY] if lasts else [])], (random.choice((-1, 1, 2)),) * width
    if not has_ids or random.random() < 0.5:
        return InputChange(id, start, random.choice(ends), payload, side=side)
    expected, new_end = random.choice((None, *ends)), random.choice((*ends, start) if lasts else (start,))
    return InputChange(id, start, expected, payload, new_end, side=side)


EAGER: dict[str, Any] = {"emit": EmitPolicy.EAGER}
SPECULATIVE: dict[str, Any] = {"emit": EmitPolicy.SPECULATIVE}
TIME_BOUND: dict[str, Any] = {**EAGER, "timestamps": TimestampPolicy.TIME_BOUND}
QUERIES: dict[str, tuple[EvaluatorQuery, Callable[..., Any]]] = {
    "final": (query(tumbling(5)), Bucket),
    "speculative": (query(session(2), **SPECULATIVE), Bucket),
    "corrected": (query(tumbling(5), late=correct(4), **SPECULATIVE), Bucket),
    "adjusted": (query(tumbling(5), late=Lateness(LatePolicy.ADJUST)), Bucket),
    "shed": (query(tumbling(5), most_held=2), Bucket),
    "time-bound": (query(tumbling(5), contract=OutputContract.TIME_BOUND, **TIME_BOUND), Bucket),
    "early": (query(snapshot(), emit=early(every_count(2), refinement=Refinement.RETRACT)), Bucket),
    "lives": (query(tumbling(5), forget_keys_after=3, **EAGER), LivesBucket),
    "early lives": (query(tumbling(5), emit=early(every_count(2)), forget_keys_after=3), LivesBucket),
}
IS_KEPT: Callable[[Any], bool] = lambda payload: payload[0] > 0  # noqa: E731


def queries() -> dict[str, tuple[EvaluatorQuery, Callable[..., Any], bool]]:
    """Return queries by what is special about them, each with its bucket, and whether its events last."""
    plans = {
        "sliding rows": plan_of_rows(last(2), has_ids=True),
        "rows in batches": plan_of_rows(batch(2), has_ids=True),
    }
    found = {name: (of, kind, True) for name, (of, kind) in QUERIES.items()}
    found |= {name: (plan.evaluator_query([Meter()]), RowsBucket, False) for name, plan in plans.items()}
    return found | {"operator": (plan_of(Silence(3)).evaluator_query([Meter()]), StreamBucket, False)}


@pytest.mark.parametrize("is_filtered", [False, True], ids=["all", "filtered"])
@pytest.mark.parametrize("name", queries())
def test_each_row_is_counted_once(name: str, is_filtered: bool) -> None:
    asked, make, lasts = queries()[name]
    asked = replace(asked, keeps=IS_KEPT) if is_filtered else asked
    seen = Counter[str]()
    for seed in range(20):
        random, cells, bucket = Random(seed), MemoryCells(), None
        came = accepted = refused = 0
        for rows, watermark in batches(random, 3, has_ids=random.random() < 0.8 or not lasts, lasts=lasts):
            if bucket is None or random.random() < 0.3:
                bucket = make(asked, cells, Codec(), {})
            result = bucket.process([(("a",), rows)], Progress(watermark, 20, 9))
            came += sum(is_counted(row) for row in rows) if is_filtered else len(rows)
            accepted, refused = accepted + result.accepted, refused + len(result.rejections)
            assert accepted + refused <= came
            seen.update(kinds(result.rejections))
        assert accepted + refused == came, f"seed {seed}: {accepted} accepted and {refused} not, of {came}"
        seen["accepted"] += accepted
    assert min(seen["accepted"], seen["late"], seen["rejected"]) > 5, seen
    assert (seen["shed"] > 5) is (name == "shed")


def is_counted(row: InputChange) -> bool:
    """Return True unless a filter leaves a row out: it tests insertions alone."""
    return row.new_end is not None or IS_KEPT(row.payload)


def kinds(rejections: Sequence[tuple[Key, Rejection]]) -> list[str]:
    return ["late" if some.is_late else "shed" if some.is_shed else "rejected" for _, some in rejections]


@pytest.mark.parametrize("is_eager", [False, True], ids=["final", "eager"])
@pytest.mark.parametrize("kind", JoinKind, ids=str)
def test_each_row_of_a_join_is_counted_once(kind: JoinKind, is_eager: bool) -> None:
    seen = Counter[str]()
    for seed in range(20):
        random, cells, bucket = Random(seed), MemoryCells(), None
        sides = tuple(EvaluatorQuery(tumbling(1), (), has_ids=True) for _ in range(2))
        asked = JoinQuery(kind, (sides[0], sides[1]), ((0, 0), (1, 0)) if kind.pairs else ((0, 0),), is_eager)
        came = accepted = refused = 0
        for rows, watermark in batches(random, 1, sides=2):
            if bucket is None or random.random() < 0.3:
                bucket = JoinBucket(asked, cells, Codec(), {})
            other = random.choice((watermark, EARLIEST)) if watermark < INFINITY else watermark
            result = bucket.take([(("a",), rows)], [InputReport(Progress(tick, 20, 9)) for tick in (watermark, other)])
            came, accepted = came + len(rows), accepted + result.accepted
            refused += len(result.rejections)
            assert accepted + refused <= came
            seen.update(kinds(result.rejections))
        assert accepted + refused == came, f"seed {seed}: {accepted} accepted and {refused} not, of {came}"
        seen["accepted"] += accepted
    assert min(seen["accepted"], seen["late"], seen["rejected"]) > 5, seen
