"""The laws of the mean, and examples."""

from math import isnan

from hypothesis import strategies as st
from muntin import hopping
from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery

from muntin_myplugin.mean import Mean


class TestMean(IncrementalAggregateLaws):
    module = Mean()
    payloads = st.floats()  # NaN and infinity too, and sums that round


def test_what_left_leaves_no_rounding_error() -> None:
    mean = Mean()
    state = mean.add_events(mean.create_state(), [1e16, 1.0, float("nan")])
    assert isnan(mean.compute_result(state))
    assert mean.compute_result(mean.remove_events(state, [1e16, float("nan")])) == 1.0


def test_windows_may_overlap() -> None:
    #          0    5    10   15
    # payload   1.0   3.0
    # window   [---------)
    # window        [---------)
    script = Script().point("a", 1, 1.0).point("b", 7, 3.0).close()

    output = script.run(WindowedQuery(hopping(10, 5), [Computation(Mean())]))

    assert [(row.start, row.value) for row in output[None]] == [(-5, (1.0,)), (0, (2.0,)), (5, (3.0,))]
