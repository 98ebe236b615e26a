"""The laws of the average over time, and an example."""

from muntin import ClipPolicy, tumbling
from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery

from muntin_myplugin.average_over_time import AverageOverTime


class TestAverageOverTime(IncrementalAggregateLaws):
    module = AverageOverTime()


def test_a_payload_that_lasts_longer_weighs_more() -> None:
    #          0         10
    # event    [--------)     1.0
    # event             [)    11.0
    # window   [---------)
    script = Script().insert("a", 0, 9, 1.0).insert("b", 9, 10, 11.0).close()

    output = script.run(WindowedQuery(tumbling(10), [Computation(AverageOverTime())], ClipPolicy.FULL))

    assert [row.value for row in output[None]] == [(2.0,)]
