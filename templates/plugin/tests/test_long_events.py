"""The laws of the long events, and an example."""

import pytest
from muntin import TimestampPolicy, tumbling
from muntin.testing import Computation, OperatorLaws, Script, WindowedQuery

from muntin_myplugin.long_events import LongEvents


class TestLongEvents(OperatorLaws):
    module = LongEvents(at_least=3)


def test_a_long_event_keeps_its_lifetime() -> None:
    #          0         10
    # event     [)
    # event      [-----)
    # window   [---------)
    script = Script().insert("a", 1, 2, "short").insert("b", 2, 8, "long").close()
    query = WindowedQuery(tumbling(10), [Computation(LongEvents(5))], timestamps=TimestampPolicy.UNCHANGED)

    assert [(row.start, row.end, row.value) for row in script.run(query)[None]] == [(2, 8, "long")]


def test_a_length_is_at_least_one_tick() -> None:
    with pytest.raises(ValueError, match="expected at least 1 tick"):
        LongEvents(at_least=0)
