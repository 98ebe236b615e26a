"""The laws of the frequencies, and an example."""

from muntin import tumbling
from muntin.testing import Computation, IncrementalOperatorLaws, Script, WindowedQuery

from muntin_myplugin.frequencies import Frequencies, Frequency


class TestFrequencies(IncrementalOperatorLaws):
    module = Frequencies()


def test_each_text_is_a_row() -> None:
    script = Script().point("a", 1, "rain").point("b", 2, "sun").point("c", 3, "rain").close()

    output = script.run(WindowedQuery(tumbling(10), [Computation(Frequencies())]))

    assert [row.value for row in output[None]] == [Frequency("rain", 2), Frequency("sun", 1)]
