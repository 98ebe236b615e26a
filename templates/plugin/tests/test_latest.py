"""The laws of the latest events, and an example."""

from muntin import tumbling
from muntin.testing import Computation, IncrementalOperatorLaws, Script, WindowedQuery

from muntin_myplugin.latest import Latest


class TestLatest(IncrementalOperatorLaws):
    module = Latest()


def test_the_order_of_arrival_means_nothing() -> None:
    script = Script().point("b", 4, "last").point("a", 2, "first").close()

    output = script.run(WindowedQuery(tumbling(10), [Computation(Latest())]))

    assert [row.value for row in output[None]] == ["last"]
