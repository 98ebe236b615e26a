"""The laws of the gaps, and what the constructor refuses."""

import pytest
from hypothesis import strategies as st
from muntin.testing import OperatorLaws

from muntin_myplugin.gaps import Gap, Gaps


class TestGaps(OperatorLaws):
    module = Gaps()
    payloads = st.floats()  # NaN and infinity too


def test_a_gap_lies_between_neighbours() -> None:
    assert Gaps(at_least=2.0).compute_result([9.0, 1.0, 2.0]) == [Gap(2.0, 9.0)]


def test_a_gap_has_a_size() -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        Gaps(at_least=0.0)
