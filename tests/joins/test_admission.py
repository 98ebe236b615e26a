"""Late rows, filters, keys that are null, and lives of ids in a join."""

from __future__ import annotations

from random import Random

import pytest

from muntin import INFINITY, JoinKind, Lateness, LatePolicy, tumbling
from muntin_engine.core.changes import InputChange, Key, OutputKind, Progress, Reason
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.joins.bucket import JoinBucket
from muntin_engine.evaluators.joins.key_state import JoinQuery
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedInMemory
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec


def side(**changed: object) -> EvaluatorQuery:
    return EvaluatorQuery(tumbling(1), (), **({"has_ids": False} | changed))  # type: ignore[arg-type]


def bucket(left: EvaluatorQuery, right: EvaluatorQuery, *, is_eager: bool = False) -> JoinBucket:
    query = JoinQuery(JoinKind.INNER, (left, right), ((0, 0), (1, 0)), is_eager)
    return JoinBucket(query, MemoryCells(), Codec(), {"query": "a"})


def row(of: int, start: int, end: int, id: str | None = None, new_end: int | None = None) -> InputChange:
    return InputChange(id, start, end, ("lr"[of] + str(start), start % 2 == 0), new_end, side=of)


def said(*watermarks: int) -> list[InputReport]:
    return [InputReport(Progress(watermark)) for watermark in watermarks]


def test_a_row_is_late_by_its_own_input_alone() -> None:
    joins = bucket(side(), side())
    joins.take([], said(0, 20))
    result = joins.take([(("a",), [row(0, 5, 30), row(1, 5, 30), row(1, 22, 25)])], said(0, 20))
    assert [(key, some.reason, some.late_by, some.change.side) for key, some in result.rejections] == [
        (("a",), Reason.LATE, 15, 1)
    ]
    assert result.accepted == 2
    assert [(change.start, change.end) for _, some in result.output for change in some] == [(22, 25)]


def test_a_row_waits_no_longer_than_until_the_watermark_has_passed_its_event() -> None:
    joins = bucket(side(has_ids=True), side())
    waiting = [row(0, 1, 10, "a"), row(0, 1, 20, "a", 25)]
    found = [joins.take([(("a",), waiting)], said(0, 0))]
    found += [joins.take([], said(watermark, 0)) for watermark in (10, 11)]
    assert [[some.change.new_end for _, some in result.rejections] for result in found] == [[], [], [25]]


def test_a_late_insertion_can_start_at_the_watermark() -> None:
    joins = bucket(side(late=Lateness(LatePolicy.ADJUST)), side())
    joins.take([], said(10, 0))
    result = joins.take([(("a",), [row(0, 5, 30), row(1, 2, 40)])], said(10, 0))
    assert [(change.start, change.end) for _, some in result.output for change in some] == [(10, 30)]


def test_events_that_a_filter_leaves_out_meet_nothing_and_hear_of_their_revisions() -> None:
    joins = bucket(side(has_ids=True, keeps=lambda payload: payload[1]), side(), is_eager=True)
    result = joins.take([(("a",), [row(0, 4, 9, "kept"), row(0, 5, 9, "left out"), row(1, 3, 8)])], said(0, 0))
    assert [change.value for _, some in result.output for change in some] == [("l4", "r3")]
    ends = [row(0, 4, 9, "kept", 6), row(0, 5, 9, "left out", 6)]
    result = joins.take([(("a",), ends)], said(0, 0))
    assert [(change.kind, change.new_end) for _, some in result.output for change in some] == [(OutputKind.REVISE, 6)]
    assert not result.rejections
    assert joins.take([], said(INFINITY, INFINITY)).held.events == 0


def test_a_row_that_is_left_out_is_not_counted_while_it_waits_either() -> None:
    joins = bucket(side(has_ids=True, keeps=lambda payload: payload[1]), side())
    batches = [[row(0, 5, 9, "a")], [row(0, 5, 12, "a")], [row(0, 5, 9, "a", 5)]]  # the second waits for the third
    assert [joins.take([(("a",), rows)], said(0, 0)).accepted for rows in batches] == [0, 0, 1]


def test_null_is_a_key_like_any_other_and_equal_keys_are_one() -> None:
    joins = bucket(side(), side())
    keys: list[Key] = [(None,), (0.0,), (-0.0,), (float("nan"),)]
    for of in range(2):
        result = joins.take([(key, [row(of, 1, 5)]) for key in keys], said(0, 0))
    assert sorted((str(key), len(some)) for key, some in result.output) == [
        ("(0.0,)", 4),
        ("(None,)", 1),
        ("(nan,)", 1),
    ]


def test_a_join_in_memory_goes_on_from_its_cells() -> None:
    cells, query = MemoryCells(), JoinQuery(JoinKind.LEFT, (side(), side()), ((0, 0), (1, 0)))
    first = KeyedInMemory(JoinBucket(query, cells, Codec(), {"query": "a"}), 2)
    assert first.take([(("a",), row(0, 1, 9))], Progress(1)) == []
    again = KeyedInMemory(JoinBucket(query, cells, Codec(), {"query": "a"}), 2)
    output = again.take([(("a",), row(1, 4, 6))], Progress(INFINITY))
    assert sorted((change.start, change.end, change.value) for _, change in output) == [
        (1, 4, ("l1", None)),
        (4, 6, ("l1", "r4")),
        (6, 9, ("l1", None)),
    ]


@pytest.mark.parametrize("kind", JoinKind)
def test_each_row_is_accepted_or_rejected_in_the_end_however_little_it_fits(kind: JoinKind) -> None:
    for seed in range(40):
        random, cells, watermarks = Random(seed), MemoryCells(), [0, 0]
        query = JoinQuery(
            kind,
            (side(has_ids=True), side(has_ids=True)),
            ((0, 0), (1, 0))[: 1 + kind.pairs],
            is_eager=random.random() < 0.5,
        )
        came = accepted = rejected = 0
        for watermark in (*sorted(random.choices(range(30), k=5)), INFINITY):
            rows = [_any_row(random) for _ in range(6)]
            place = random.randrange(2)
            watermarks = [watermark, watermark] if watermark == INFINITY else watermarks
            watermarks[place] = watermark
            joins = JoinBucket(query, cells, Codec(), {})
            result = joins.take([(("a",), rows)], said(*watermarks))
            came, accepted, rejected = came + 6, accepted + result.accepted, rejected + len(result.rejections)
        assert accepted + rejected == came, (seed, query)
        assert accepted
        assert rejected


def _any_row(random: Random) -> InputChange:
    start, side = random.randrange(20), random.randrange(2)
    ends = random.sample(range(start, start + 9), 2)
    new_end = ends[1] if random.random() < 0.4 else None
    return InputChange(random.choice("ab"), start, ends[0] or None, ("x",), new_end, side=side)
