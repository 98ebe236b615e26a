"""The laws of the spread, and an example."""

from hypothesis import strategies as st
from muntin import tumbling
from muntin.testing import AggregateLaws, Computation, Script, WindowedQuery

from muntin_myplugin.spread import Spread


class TestSpread(AggregateLaws):
    module = Spread()
    payloads = st.floats()  # NaN and infinity too


def test_the_spread_of_each_window() -> None:
    #          0         10
    # payload   4.5   0.5  2.0
    # window   [---------)[---------)
    script = Script().point("a", 1, 4.5).point("b", 7, 0.5).point("c", 12, 2.0).close()

    output = script.run(WindowedQuery(tumbling(10), [Computation(Spread())]))

    assert [row.value for row in output[None]] == [(4.0,), (0.0,)]
