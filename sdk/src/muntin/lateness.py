"""What becomes of late rows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import Duration, ticks
from muntin.errors import PolicyError
from muntin.policies import LatePolicy, parse_policy


@dataclass(frozen=True, slots=True)
class Lateness:
    """What becomes of late rows; made by `correct`, or from the text of a policy.

    Attributes:
        policy: What.
        allowed: For how long behind the watermark results are corrected, in ticks.
    """

    policy: LatePolicy = LatePolicy.SIDE
    allowed: int = 0

    def __str__(self) -> str:
        return f"correct({self.allowed})" if self.policy is LatePolicy.CORRECT else str(self.policy)

    @property
    def corrects(self) -> bool:
        """True if a result that was put out may be corrected by late rows."""
        return self.policy is LatePolicy.CORRECT


def correct(allowed: Duration) -> Lateness:
    """Return the policy that corrects results for rows up to some time late (Flink's and Beam's allowed lateness).

    A window is put out when the watermark passes its end, and corrected with retractions by every row that comes up
    to that long behind the watermark. What comes later yet goes to the late rows.

    Over hopping and tumbling windows of events without ids it is the windows that count: until the watermark is that
    long past the end of the first one that a row belongs to, the row corrects all of them.

    Args:
        allowed: That long.

    Raises:
        PolicyError: It is not above zero.
        DurationError: It cannot be read.

    Example:
        >>> correct("1 hour").allowed
        3600000000
    """
    span = ticks(allowed)
    if not 0 < span <= 2**60:
        raise PolicyError(f"late rows correct results for some time, got {allowed!r}\n  for none, use late='side'")
    return Lateness(LatePolicy.CORRECT, span)


def parse_lateness(value: Lateness | LatePolicy | str) -> Lateness:
    """Return what becomes of late rows from a policy or its text.

    Raises:
        PolicyError: The text names no policy, or says to correct and not for how long.

    Example:
        >>> parse_lateness("drop")
        Lateness(policy=<LatePolicy.DROP: 'drop'>, allowed=0)
    """
    if isinstance(value, Lateness):
        return value
    try:
        policy = parse_policy(LatePolicy, value)
    except PolicyError as error:
        raise PolicyError(f"{error}\n  to correct results for some time: late=correct('1 hour')") from None
    if policy is LatePolicy.CORRECT:
        raise PolicyError("late='correct' does not say for how long\n  use late=correct('1 hour')")
    return Lateness(policy)
