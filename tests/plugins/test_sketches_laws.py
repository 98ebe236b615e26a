"""The approximate modules obey the laws of incremental aggregates: up to `k` members nothing in them is random.

The laws draw fewer members than that. For larger windows `test_sketches.py` says what is left of them, a bound.
"""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import strategies as st

from muntin.testing import IncrementalAggregateLaws
from muntin_stats import ApproximateDistinctCount, ApproximateMedian, ApproximateQuantile

pytest.importorskip("datasketches", reason="datasketches is not installed, or has no wheel for this Python")

HARD = st.sampled_from([1e16, -1e16, 1.0, 0.1, -0.0, 5e-324, 1.7e308, -1.7e308, inf, -inf, nan, None])
EXACTLY = 0.0


class TestApproximateDistinctCountOfHardFloats(IncrementalAggregateLaws):
    module = ApproximateDistinctCount(lg_k=7)
    payloads = HARD
    tolerance = EXACTLY


class TestApproximateDistinctCountOfText(IncrementalAggregateLaws):
    module = ApproximateDistinctCount()
    payloads = st.none() | st.text()
    tolerance = EXACTLY


class TestApproximateMedian(IncrementalAggregateLaws):
    module = ApproximateMedian()
    tolerance = EXACTLY


class TestApproximateQuantileOfHardFloats(IncrementalAggregateLaws):
    module = ApproximateQuantile(q=0.25, k=100)
    payloads = HARD
    tolerance = EXACTLY
