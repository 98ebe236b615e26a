"""Windows of events with ids on arrays, where a restart or a crash comes at every step."""

from __future__ import annotations

from math import inf

from muntin import ClipPolicy, EmitPolicy, hopping, snapshot
from muntin.testing import Computation, WindowedQuery, random_stream
from muntin_engine.testing import crash_everywhere
from muntin_stats import TimeWeightedAverage
from tests.differential.cases import until_closed
from tests.differential.forms import INVERTIBLE


def test_legal_streams_are_evaluated_as_the_reference_does() -> None:
    for seed, windows in enumerate((snapshot(), hopping(10, 4))):
        emit = EmitPolicy.FINAL if windows == snapshot() else EmitPolicy.SPECULATIVE
        stream = random_stream(seed, keys=("a", None), events=9, starts=range(-5, 15), again=0.3, disorder=9)
        (module,) = INVERTIBLE["several"][:1]
        survived = crash_everywhere(until_closed(stream), WindowedQuery(windows, [Computation(module)]), emit=emit)
        assert survived.evaluators == ("general", "columnar")


def test_a_time_weighted_average_of_snapshots_is_a_sum_to_the_bit() -> None:
    values = (None, 0.1, 1 / 3, 1e300, -1e300, 1e-300, inf, 1e16)
    average = Computation(TimeWeightedAverage())
    for seed in range(2):
        stream = random_stream(seed, events=9, starts=range(12), payload=lambda random: random.choice(values))
        survived = crash_everywhere(
            until_closed(stream), WindowedQuery(snapshot(), [average], ClipPolicy.FULL), tolerance=0.0
        )
        assert survived.evaluators == ("general", "columnar")
