"""The laws of the progress policy, and an example."""

from muntin.testing import ProgressPolicyLaws, Script

from muntin_myplugin.confirmed import Confirmed


class TestConfirmed(ProgressPolicyLaws):
    policy = Confirmed(2)


def test_one_row_from_the_far_future_makes_no_other_late() -> None:
    script = Script().point("a", 8).point("b", 9).point("c", 90).batch().point("d", 12)

    assert script.with_progress(Confirmed(2)).last_watermark() == 7
