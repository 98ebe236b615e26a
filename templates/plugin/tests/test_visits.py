"""The laws of visits, and an example."""

from collections.abc import Sequence

from muntin import Aggregate
from muntin.testing import Computation, Script, WindowedQuery, WindowKindLaws

from muntin_myplugin import visits


class TestVisits(WindowKindLaws):
    kind = visits.Visits(5)


class Together(Aggregate[str, str]):
    """The payloads of a window, in order."""

    name, version = "myplugin.together", "0.1.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return "".join(sorted(payloads))


def test_a_visit_ends_when_nothing_happens_for_a_gap() -> None:
    #          0    5    10   15   20
    # events    a  b       c d
    # visits   [-------)  [------)
    script = Script().point("a", 1, "a").point("b", 4, "b").point("c", 12, "c").point("d", 14, "d").close()

    output = script.run(WindowedQuery(visits.Visits(5), [Computation(Together())]))

    assert [(row.start, row.end, row.value) for row in output[None]] == [(1, 9, ("ab",)), (12, 19, ("cd",))]
