"""The laws of the latest events, and an example."""

from muntin import TimestampPolicy, tumbling
from muntin.testing import Computation, IncrementalOperatorLaws, Script, WindowedQuery

from muntin_myplugin.latest import Latest


class TestLatest(IncrementalOperatorLaws):
    module = Latest()


def test_the_order_of_arrival_means_nothing() -> None:
    script = Script().point("b", 4, "last").point("a", 2, "first").close()
    query = WindowedQuery(tumbling(10), [Computation(Latest())], timestamps=TimestampPolicy.UNCHANGED)

    assert [(row.start, row.end, row.value) for row in script.run(query)[None]] == [(4, 5, "last")]
