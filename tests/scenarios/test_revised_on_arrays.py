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


@pytest.mark.parametrize("seed", range(2))
def test_a_time_weighted_average_of_snapshots_is_on_arrays_what_it_is_elsewhere_to_the_bit(seed: int) -> None:
    """The payloads are such that a sum which rounds would differ by the order in which it adds."""
    payloads = (None, 0.1, 1 / 3, 1e300, -1e300, 1e-300, inf, 1e16)
    stream = random_stream(seed, events=9, starts=range(12), payload=lambda random: random.choice(payloads))
    query = WindowedQuery(snapshot(), [Computation(TimeWeightedAverage())], ClipPolicy.FULL)
    survived = crash_everywhere(until_closed(stream), query, tolerance=0.0)
    assert survived.evaluators == ("general", "columnar")
