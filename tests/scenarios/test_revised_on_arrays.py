"""A time-weighted average on arrays, where a restart or a crash comes at every step."""

from __future__ import annotations

from math import inf

import pytest

from muntin import ClipPolicy, snapshot
from muntin.testing import Computation, WindowedQuery
from muntin_engine.testing import crash_everywhere, random_stream
from muntin_stats import TimeWeightedAverage
from tests.scenarios.windows import until_closed

pytestmark = pytest.mark.usefixtures("all_states_small")


def test_a_time_weighted_average_of_snapshots_is_a_sum_to_the_bit() -> None:
    values = (None, 0.1, 1 / 3, 1e300, -1e300, 1e-300, inf, 1e16)
    average = Computation(TimeWeightedAverage())
    for seed in range(2):
        stream = random_stream(seed, events=9, starts=range(12), payload=lambda random: random.choice(values))
        survived = crash_everywhere(
            until_closed(stream), WindowedQuery(snapshot(), [average], ClipPolicy.FULL), tolerance=0.0
        )
        assert survived.evaluators == ("general", "columnar")
