"""The sizes of state hold within a fifth of what is measured, for shapes that they were not fitted to."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from muntin import JoinKind, StreamOperator, hopping, session, snapshot, tumbling
from muntin.progress import bounded_delay
from muntin.rows import batch, last
from muntin_engine.evaluators.arrays import held as held_stretches
from muntin_engine.evaluators.keyed import key_store
from muntin_engine.evaluators.registry import EVALUATORS
from muntin_engine.evaluators.sizes import SIZES
from muntin_engine.plan.load import Load
from muntin_engine.plan.planner import evaluator_of
from muntin_engine.plan.sizes import (
    LARGE,
    MOST_PIECES,
    MOST_RECORDS,
    BucketContents,
    ValueBytes,
    ValuesOf,
    logged_bytes,
    memory_bytes,
    most_state_bytes,
    state_bytes,
)
from muntin_engine.plan.sizing import demand_of, values_of
from muntin_stats import Average, Max, Sum, Variance
from tests.sizes.filling import SECOND, Shape, fill

FIFTH: Final = 0.2
MINUTE: Final = tumbling(60 * SECOND)
IN_ORDER: Final = {"order": 0}
AT_ONCE: Final = bounded_delay(0)


class Total(StreamOperator[float, list[float], float]):
    """Keeps a sum, and emits nothing."""

    name, version = "test.total", "1.0.0"

    def create_state(self) -> list[float]:
        return [0.0]

    def on_event(self, state: list[float], payload: float, time: int) -> list[float]:
        state[0] += payload
        return []

    def is_empty(self, state: list[float]) -> bool:
        return False


SHAPES: Final[Mapping[str, Shape]] = {
    "max of whole numbers": Shape(MINUTE, [(Max, 0)], keys=2_500, rows=7_000, payload=("bigint",)),
    "three aggregates of text keys": Shape(
        MINUTE, [(Variance, 0), (Max, 1), (Sum, 1)], keys=1_500, rows=4_000, payload=("double", "double"), key="string"
    ),
    "slices of hopping windows": Shape(hopping(60 * SECOND, 10 * SECOND), [(Average, 0)], keys=1_200, rows=6_000),
    "ranges": Shape(MINUTE, [(Average, 0)], keys=1_700, rows=5_000, lasting=2.0),
    "sessions": Shape(session(90 * SECOND), [(Variance, 0)], keys=1_300, rows=3_000),
    "snapshots": Shape(snapshot(), [(Average, 0), (Average, 1)], 700, 3_500, payload=("double",) * 2, lasting=20.0),
    "ids": Shape(
        MINUTE, [(Max, 0), (Sum, 1)], 800, 5_000, payload=("double", "bigint"), lasting=9.0, has_ids=True, key="string"
    ),
    "states": Shape(MINUTE, [(Variance, 0)], keys=1_400, rows=2_500, evaluator="sliced"),
    "states of sessions": Shape(session(90 * SECOND), [(Variance, 0)], keys=1_100, rows=4_000, evaluator="sliced"),
    "rows": Shape(
        MINUTE, [(Max, 0), (Sum, 1), (Max, 2)], 900, 4_500, payload=("double", "bigint", "double"), evaluator="grouped"
    ),
    "rows of text": Shape(
        MINUTE, [(Max, 0)], keys=2_000, rows=3_500, payload=("string",), key="string", evaluator="grouped"
    ),
    "rows of snapshots": Shape(snapshot(), [(Max, 0)], keys=1_600, rows=3_000, lasting=4.0),
    "rows of ranges of windows": Shape(
        hopping(60 * SECOND, 20 * SECOND), [(Max, 0)], keys=1_300, rows=3_300, lasting=4.0, evaluator="grouped"
    ),
    "rows of sessions": Shape(session(90 * SECOND), [(Max, 0)], keys=1_250, rows=4_200, evaluator="grouped"),
    "events of small keys": Shape(
        MINUTE, [(Max, 0), (Max, 1)], 900, 2_700, payload=("double", "bigint"), evaluator="general"
    ),
    "events of large keys": Shape(MINUTE, [(Average, 0)], keys=30, rows=4_000, evaluator="general"),
    "events of text": Shape(
        MINUTE, [(Max, 0)], keys=25, rows=2_500, payload=("string",), key="string", evaluator="general"
    ),
    "events that change": Shape(
        hopping(60 * SECOND, 20 * SECOND), [(Average, 0)], 700, 2_100, lasting=3.0, has_ids=True, evaluator="general"
    ),
    "events of large keys that change": Shape(
        MINUTE, [(Average, 0)], keys=16, rows=2_000, lasting=3.0, has_ids=True, evaluator="general"
    ),
    "last rows": Shape(last(1_000), [(Average, 0)], 800, 2_400, progress=AT_ONCE, more=IN_ORDER),
    "last rows of large keys": Shape(last(1_000), [(Average, 0)], 15, 3_000, progress=AT_ONCE, more=IN_ORDER),
    "states of row windows": Shape(batch(10_000), [(Average, 0)], 1_500, 2_000, progress=AT_ONCE, more=IN_ORDER),
    "rows that wait for an operator": Shape(None, [(Total, 0)], keys=700, rows=2_400, more=IN_ORDER),
    "pairs": Shape(join=JoinKind.INNER, keys=1_800, rows=5_000, lasting=0.01, payload=("double", "bigint")),
    "parts without a pair": Shape(join=JoinKind.ANTI, keys=900, rows=2_500, lasting=0.01),
}

SLICES: Final = {"slices of hopping windows": 5.5, "ranges": 1.0}
"""How many slices the rows of a shape lie in, where it is not one."""


STORED: Final = 54.0
"""The bytes of a state of a variance in a column of such, of values that are no whole numbers."""


def held_in(shape: Shape) -> BucketContents:
    """Return what a bucket holds that a shape filled."""
    plan = shape.plan
    load = Load(1, 1.0, payload_bytes=STORED if shape.evaluator == "sliced" else None)
    values, _ = values_of(plan, load, SIZES[evaluator_of(plan).sized_as(plan)].of)
    key = ValueBytes(8 if shape.key == "bigint" else 20)
    slices = next((count for name, count in SLICES.items() if SHAPES[name] is shape), 1.0)
    return BucketContents(shape.keys, shape.rows * shape.batches, key, values, slices, shape.batches)


def objects_in(state: object) -> int:
    """Return the bytes of the objects that a state is made of."""
    names = getattr(state, "__slots__", ()) or getattr(state, "__dataclass_fields__", ())
    parts = [getattr(state, name) for name in names if hasattr(state, name)]
    return sys.getsizeof(state) + sum(map(objects_in, parts))


@pytest.mark.parametrize("name", SHAPES)
def test_a_bucket_has_the_bytes_that_the_formulas_say(name: str) -> None:
    shape = SHAPES[name]
    sizes, held, filled = SIZES[evaluator_of(shape.plan).sized_as(shape.plan)], held_in(shape), fill(shape)
    (state,) = filled.state
    assert state == pytest.approx(state_bytes(sizes, held), rel=FIFTH)
    if sizes.of is ValuesOf.STATES:  # nothing but the module says what its objects take
        module: Any = Variance()
        objects = objects_in(module.add_events(module.create_state(), [103.7, 88.25, 91.125]))
        held = replace(held, values=ValueBytes(objects / sizes.memory.stretch.per_byte))
    assert filled.memory == pytest.approx(memory_bytes(sizes, held), rel=FIFTH)


GROWING: Final = {
    "slices": Shape(MINUTE, [(Average, 0)], keys=800, rows=400, batches=23),
    "slices with few rows": Shape(MINUTE, [(Average, 0)], keys=2_000, rows=150, batches=30),
    "rows": Shape(MINUTE, [(Max, 0)], keys=500, rows=350, batches=25, evaluator="grouped"),
    "slices of hopping windows": Shape(
        hopping(60 * SECOND, 10 * SECOND), [(Average, 0)], keys=300, rows=500, batches=24
    ),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_log_that_is_merged_grows_and_shrinks_as_the_formulas_say(name: str) -> None:
    shape = GROWING[name]
    sizes, held, filled = SIZES[evaluator_of(shape.plan).sized_as(shape.plan)], held_in(shape), fill(shape)
    if "hopping" in name:
        held = replace(held, slices=5.5)
    expected = [logged_bytes(sizes, held, count) for count in range(1, shape.batches + 1)]
    assert filled.state == pytest.approx(expected, rel=FIFTH)
    assert max(filled.state) == pytest.approx(most_state_bytes(sizes, held), rel=FIFTH)
    assert filled.memory == pytest.approx(memory_bytes(sizes, held), rel=FIFTH)


REWRITTEN: Final = {
    "sessions": Shape(session(90 * SECOND), [(Average, 0)], keys=300, rows=250, batches=40),
    "snapshots": Shape(snapshot(), [(Average, 0)], keys=300, rows=200, batches=20, lasting=3.0),
    "events": Shape(MINUTE, [(Average, 0)], keys=200, rows=100, batches=40, evaluator="general"),
    "events that change": Shape(MINUTE, [(Average, 0)], 200, 100, 40, lasting=3.0, has_ids=True, evaluator="general"),
    "rows that wait": Shape(last(10), [(Average, 0)], keys=200, rows=100, batches=40, more=IN_ORDER),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_log_that_is_rewritten_has_at_most_the_bytes_that_the_formulas_say(name: str) -> None:
    shape = REWRITTEN[name]
    sizes, held, filled = SIZES[evaluator_of(shape.plan).sized_as(shape.plan)], held_in(shape), fill(shape)
    most = max(filled.state)
    assert (1 - FIFTH) * state_bytes(sizes, held) <= most <= (1 + FIFTH) * most_state_bytes(sizes, held)


SLIDING: Final = {
    "slices": Shape(hopping(60 * SECOND, 10 * SECOND), [(Average, 0)], 400, 900, 14, 140.0, progress=AT_ONCE),
    "rows": Shape(
        hopping(60 * SECOND, 10 * SECOND), [(Max, 0)], 400, 900, 14, 140.0, progress=AT_ONCE, evaluator="grouped"
    ),
    "rows that a state slides over": Shape(
        hopping(60 * SECOND, 20 * SECOND), [(Average, 0)], 250, 700, 14, 140.0, progress=AT_ONCE, evaluator="grouped"
    ),
    "events": Shape(
        hopping(60 * SECOND, 20 * SECOND), [(Average, 0)], 300, 500, 14, 140.0, progress=AT_ONCE, evaluator="general"
    ),
    "events that come now and then": Shape(
        hopping(60 * SECOND, 60 * SECOND), [(Average, 0)], 900, 250, 14, 110.0, progress=AT_ONCE, evaluator="general"
    ),
}


@pytest.mark.parametrize("name", SLIDING)
def test_a_bucket_whose_windows_close_has_the_bytes_that_explain_says(name: str) -> None:
    shape = SLIDING[name]
    plan, load = shape.plan, Load(shape.keys, shape.rows * shape.batches / shape.seconds, every=10.0)
    sizes = SIZES[evaluator_of(plan).sized_as(plan)]
    held, filled = demand_of(plan, load, sizes).held, fill(shape)
    most = max(filled.state[shape.batches // 2 :])
    assert (1 - FIFTH) * state_bytes(sizes, held) <= most <= (1 + FIFTH) * most_state_bytes(sizes, held)
    assert filled.memory == pytest.approx(memory_bytes(sizes, held), rel=FIFTH)


@pytest.mark.parametrize("name", ["slices of hopping windows", "snapshots", "ids", "rows", "events of text", "pairs"])
def test_a_worker_counts_what_it_keeps_about_right(name: str) -> None:
    """By that it keeps as much as the session allows; it must not be a fraction of what is there."""
    filled = fill(SHAPES[name])
    assert 0.8 * filled.memory <= filled.counted <= 1.5 * filled.memory


def test_the_sizes_of_all_evaluators_that_keep_a_state_are_known_and_tried() -> None:
    tried = {evaluator_of(shape.plan).sized_as(shape.plan) for shape in (*SHAPES.values(), *SLIDING.values())}
    assert tried == set(SIZES)
    named = {name.partition(",")[0] for name in SIZES}
    assert named == {evaluator.name for evaluator in EVALUATORS if evaluator.keeps_state}


def test_the_limits_are_those_of_the_stores() -> None:
    assert (LARGE, MOST_PIECES) == (key_store.LARGE, held_stretches.MOST_PIECES)
    assert MOST_RECORDS == key_store.MOST_RECORDS
