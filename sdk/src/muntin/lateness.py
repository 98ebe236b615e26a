"""The treatment of late rows, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import Duration, ticks
from muntin.errors import PolicyError
from muntin.policies import LatePolicy, parse_policy


@dataclass(frozen=True, slots=True)
class Lateness:
    """The treatment of late rows; made by `correct`, or from the text of a policy.

    Attributes:
        policy: The policy for late rows.
        allowed: The lateness up to which rows correct results, in ticks behind the watermark.
    """

    policy: LatePolicy = LatePolicy.SIDE
    allowed: int = 0

    def __str__(self) -> str:
        return f"correct({self.allowed})" if self.policy is LatePolicy.CORRECT else str(self.policy)

    @property
    def corrects(self) -> bool:
        """True if late rows may correct emitted results."""
        return self.policy is LatePolicy.CORRECT


def correct(allowed: Duration) -> Lateness:
    """Correct results for rows up to some time late (allowed lateness in Flink and Beam).

    The result of a window is emitted when the watermark passes its end. Each row that is late by at most the allowed
    time corrects it, with a retraction. A row that is later still goes to the side output of late rows.

    Over hopping, tumbling and calendar windows of events without ids lateness is counted from the ends of windows: a
    row corrects all of its windows until the watermark is the allowed time past the end of the first one.

    Args:
        allowed: The allowed lateness.

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
    """Make the treatment of late rows from a policy or its text."""
    if isinstance(value, Lateness):
        return value
    try:
        policy = parse_policy(LatePolicy, value)
    except PolicyError as error:
        raise PolicyError(f"{error}\n  to correct results for some time: late=correct('1 hour')") from None
    if policy is LatePolicy.CORRECT:
        raise PolicyError("late='correct' does not say for how long\n  use late=correct('1 hour')")
    return Lateness(policy)
