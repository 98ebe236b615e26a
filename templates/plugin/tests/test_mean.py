"""The laws of the mean, and an example."""

from muntin import hopping
from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery

from muntin_myplugin.mean import Mean


class TestMean(IncrementalAggregateLaws):
    module = Mean()


def test_windows_may_overlap() -> None:
    #          0    5    10   15
    # payload   1.0   3.0
    # window   [---------)
    # window        [---------)
    script = Script().point("a", 1, 1.0).point("b", 7, 3.0).close()

    output = script.run(WindowedQuery(hopping(10, 5), [Computation(Mean())]))

    assert [(row.start, row.value) for row in output[None]] == [(-5, (1.0,)), (0, (2.0,)), (5, (3.0,))]
