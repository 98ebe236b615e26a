"""The laws of the covered share, and an example."""

from muntin import ClipPolicy, tumbling
from muntin.testing import AggregateLaws, Computation, Script, WindowedQuery

from muntin_myplugin.covered import Covered


class TestCovered(AggregateLaws):
    module = Covered()


def test_an_event_counts_in_each_window_that_it_overlaps() -> None:
    #          0         10        20
    # event         [---------)
    # window   [---------)[---------)
    script = Script().insert("a", 5, 15).close()

    output = script.run(WindowedQuery(tumbling(10), [Computation(Covered())], ClipPolicy.FULL))

    assert [row.value for row in output[None]] == [(0.5,), (0.5,)]
