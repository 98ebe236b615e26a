# mypy: disable-error-code="misc, name-defined, no-untyped-def, no-any-return"
"""Combine functions of Apache Beam itself as modules. `make test-others` runs this where Beam is installed."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import tumbling
from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery, equal
from muntin_adapters import from_combine_fn

beam = pytest.importorskip("apache_beam", reason="apache-beam is not installed")
combiners = pytest.importorskip("apache_beam.transforms.combiners", reason="apache-beam is not installed")
direct = pytest.importorskip("apache_beam.runners.direct.direct_runner", reason="apache-beam is not installed")

RANDOM = Random(11)
VALUES = [RANDOM.randint(-50, 50) for _ in range(200)]


class Variance(beam.CombineFn):
    """A combine function of a user's own, which sets itself up and changes its accumulators."""

    def setup(self):
        self.is_ready = True

    def create_accumulator(self):
        assert self.is_ready
        return [0, 0, 0]

    def add_input(self, accumulator, element: int):
        accumulator[0] += 1
        accumulator[1] += element
        accumulator[2] += element * element
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *other_accumulators = accumulators
        for accumulator in other_accumulators:
            for place, part in enumerate(accumulator):
                first[place] += part
        return first

    def extract_output(self, accumulator) -> float:
        n, total, squares = accumulator
        return (squares - total * total / n) / n


# name: the combine function of integers, and the type of its results
COMBINE_FNS: dict[str, tuple[Any, Any]] = {
    "mean": (combiners.MeanCombineFn(), float),
    "count": (combiners.CountCombineFn(), int),
    "top": (combiners.TopCombineFn(3), list[int]),
    "smallest": (combiners.TopCombineFn(2, reverse=True), list[int]),
    "list": (combiners.ToListCombineFn(), list[int]),
    "all": (
        beam.combiners.TupleCombineFn(combiners.MeanCombineFn(), combiners.TopCombineFn(2)).with_common_input(),
        tuple[float, list[int]],
    ),
    "variance": (Variance(), float),
}


def adapted(name: str) -> Any:
    """Return a combine function as a module."""
    fn, result = COMBINE_FNS[name]
    return from_combine_fn(fn, name=f"beam.{name}", version=beam.__version__, input=int, result=result)()


class TestMean(IncrementalAggregateLaws):
    module = adapted("mean")


class TestTop(IncrementalAggregateLaws):
    module = adapted("top")


class TestVariance(IncrementalAggregateLaws):
    module = from_combine_fn(Variance, name="beam.variance", version="1")()


@pytest.mark.parametrize("name", COMBINE_FNS)
def test_merged_slices_give_what_beams_own_runner_gives(name: str, tmp_path: Path) -> None:
    module = adapted(name)
    slices = [module.add_events(module.create_state(), VALUES[start::7]) for start in range(7)]
    result = module.compute_result(reduce(module.combine, slices))
    fn, _ = COMBINE_FNS[name]
    expected = by_beam(fn, tmp_path / "out")
    assert equal(in_order(result), in_order(expected), 1e-9)


def test_windows_give_what_beams_fixed_windows_give(tmp_path: Path) -> None:
    # Windows of 25 ticks, with a value at each tick.
    file = tmp_path / "out"
    with beam.Pipeline(runner=direct.BundleBasedDirectRunner()) as pipeline:
        _ = (
            pipeline
            | beam.Create(list(enumerate(VALUES)))
            | beam.Map(lambda pair: beam.window.TimestampedValue(pair[1], pair[0]))
            | beam.WindowInto(beam.window.FixedWindows(25))
            | beam.CombineGlobally(Variance()).without_defaults()
            | beam.Map(lambda result, window=beam.DoFn.WindowParam: json.dumps([int(window.start), result]))
            | beam.io.WriteToText(str(file), num_shards=1)
        )
    expected = dict(map(json.loads, lines_in(tmp_path)))

    script = Script()
    for at, value in enumerate(VALUES):
        script = script.point(str(at), at, value)
    module = from_combine_fn(Variance, name="beam.variance", version="1")()
    rows = script.close().run(WindowedQuery(tumbling(25), [Computation(module)]))[None]
    assert {row.window.start: row.value[0] for row in rows} == pytest.approx(expected)


def by_beam(fn: Any, file: Path) -> Any:
    """Run the values through a pipeline of Beam's own direct runner, and return its results."""
    with beam.Pipeline(runner=direct.BundleBasedDirectRunner()) as pipeline:
        results = pipeline | beam.Create(VALUES) | beam.CombineGlobally(fn)
        _ = results | beam.Map(json.dumps) | beam.io.WriteToText(str(file), num_shards=1)
    (line,) = lines_in(file.parent)
    return json.loads(line)


def lines_in(folder: Path) -> list[str]:
    """Return the lines of the files that a pipeline wrote."""
    lines: list[str] = []
    for file in folder.glob("out*"):
        lines += file.read_text().splitlines()
    return lines


def in_order(result: Any) -> Any:
    """Return a result with lists of integers in their order, and tuples as lists, as JSON has them."""
    if not isinstance(result, tuple | list):
        return result
    if result and isinstance(result[0], int):
        return sorted(result)
    return [in_order(part) for part in result]
