"""Random streams through Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin import count_by_end, count_by_start, hopping, snapshot, tumbling
from muntin.windows import SessionWindows, WindowKind
from muntin_engine.testing.random_streams import random_stream, shuffle, split
from tests.journeys.running import collect_together, run_together, stream_of
from tests.journeys.scripts import Case, expected, standing, tables
from tests.modules.members import Count, Echo, Lifetimes, Members, Total
from tests.scenarios.windows import until_closed
from tests.torture.kind import Figures
from tests.torture.session import session

MODULES = ((Members, Count, Total), (Lifetimes, Count), (Echo,), (Total, Members), (Members,))


def through_spark(seed: int, folder: Path) -> Figures:
    """Run a few queries over one random stream, once in micro-batches and once as a table."""
    random = Random(seed)
    spark = session()
    count = random.randint(20, 150)
    disorder = random.randrange(30)
    stream = random_stream(seed, events=count, keys=("a", "b", None, "c"), disorder=disorder, closed=True)
    script = split(until_closed(shuffle(until_closed(stream), seed, early_revisions=True)), seed, cuts=0.02)
    batches = tables(script)
    cases = {f"query {number}": _case(random) for number in range(3)}
    streamed = stream_of(spark, folder / "stream", batches)
    whole = spark.read.parquet(str(folder / "stream"))
    buckets = random.choice((1, 4, 7))
    in_batches = run_together(
        {name: case.query(streamed, buckets) for name, case in cases.items()},
        folder / "checkpoint",
        input_rows=len(script.changes()),
    )
    at_once = collect_together({name: case.query(whole, buckets) for name, case in cases.items()})
    for name, case in cases.items():
        expected_rows = expected(case, script)
        assert standing(case, in_batches[name]) == expected_rows, f"in micro-batches: {case}\n{script}"
        assert standing(case, at_once[name]) == expected_rows, f"as a table: {case}\n{script}"
    return {"streams": 1, "changes": len(script.changes()), "micro-batches": len(batches), "queries": 2 * len(cases)}


def _case(random: Random) -> Case:
    modules = random.choice(MODULES)
    times = ("align", "point_at_end", "clip") if modules == (Echo,) else ("align", "point_at_end")
    clip = random.choice(("none", "left", "right", "full"))
    return Case(_window(random), modules, clip, random.choice(times), random.choice(("final", "speculative", "eager")))


def _window(random: Random) -> WindowKind:
    """Draw windows."""
    return random.choice(
        (
            tumbling(random.randint(1, 30)),
            hopping(random.randint(1, 20), random.randint(1, 12), random.randint(-5, 5)),
            tumbling(8, reach=random.randint(1, 6)),
            snapshot(),
            SessionWindows(random.randint(1, 8)),
            count_by_start(random.randint(1, 4)),
            count_by_end(random.randint(1, 4)),
        )
    )
