"""The laws of progress policies."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from hypothesis import strategies as st

from muntin.axis import EARLIEST
from muntin.progress import MOST_ROWS, ProgressPolicy, SourceProgress
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Trial

Arrived: TypeAlias = tuple[Sequence[int], int | None]
"""A micro-batch: the starts of its rows, and the reading of the clock."""


class ProgressPolicyTrial(Trial):
    """Draws micro-batches of rows, and asks a policy after each."""

    tested: ProgressPolicy

    def label(self) -> str:
        """Return the name of its class."""
        return f"the progress policy {type(self.tested).__name__}"

    def batches(self, *, has_clock: bool | None = None) -> list[Arrived]:
        """Draw micro-batches, some of them without rows; with a clock or without, or as it is drawn."""
        clock = None if has_clock is False or self.draw(st.booleans()) else self.draw(st.integers(0, 100))
        newest, found = self.draw(st.integers(-20, 20)), list[Arrived]()
        for _ in range(self.draw(st.integers(1, 6))):
            steps = [self.draw(st.sampled_from(self.laws.steps)) for _ in range(self.draw(st.integers(0, 4)))]
            starts = [newest + step for step in steps]
            newest = max([newest, *starts])
            clock = None if clock is None else clock + self.draw(st.sampled_from([0, 1, 20]))
            found.append((starts, clock))
            self.stream.append(f"micro-batch of {starts}" + ("" if clock is None else f", clock {clock}"))
        return found

    def answers(self, batches: Sequence[Arrived]) -> list[int | None]:
        """Return the policy's answer after each micro-batch, from the first row on."""
        starts, found = list[int](), list[int | None]()
        last_heard: int | None = None
        for came, clock in batches:
            before = len(starts)
            starts += came
            last_heard = clock if came or last_heard is None else last_heard
            if starts:
                latest = tuple(sorted(starts, reverse=True)[: self.tested.starts_kept])
                seen = SourceProgress(max(starts), len(starts), latest, before, clock, last_heard)
                said: Any = self.call(f"watermark({seen})", self.tested.watermark, seen)
                is_tick = isinstance(said, int) and not isinstance(said, bool)
                self.expect(said is None or is_tick, f"watermark({seen}) returned {said!r}")
                found.append(said)
        return found

    def furthest(self, batches: Sequence[Arrived]) -> int:
        """Return the watermark after all micro-batches."""
        return max((said for said in self.answers(batches) if said is not None), default=EARLIEST)


class ProgressPolicyLaws(Conformance, of=ProgressPolicy, subject="policy", trial=ProgressPolicyTrial):
    """The laws of a `ProgressPolicy`, tried on random rows of one source, cut into micro-batches.

    Attributes:
        policy: The policy under test, an instance, with lengths of some ticks.
        steps: By how many ticks the start of a row may be after the newest one before it; negative for rows that come
            late.
        depends_on_batches: True for a policy that is meant to answer otherwise where micro-batches end elsewhere, such
            as `punctuate_every(rows=...)`.

    Example:
        >>> from muntin.progress import bounded_delay
        >>> class TestDelay(ProgressPolicyLaws):
        ...     policy = bounded_delay(5)
        >>> TestDelay().test_it_makes_no_difference_where_micro_batches_end()
    """

    policy: ClassVar[ProgressPolicy]
    steps: ClassVar[Sequence[int]] = (-30, -4, -1, 0, 1, 1, 2, 7, 60)
    depends_on_batches: ClassVar[bool] = False

    @law(
        "make it a frozen dataclass at the top of a file, whose fields are numbers and text, and describe it in words",
        is_random=False,
    )
    def test_definition_is_complete(self, trial: ProgressPolicyTrial) -> None:
        """The policy is a frozen dataclass that can be pickled, and says what it does and how many starts it reads."""
        policy: Any = trial.tested
        try:
            pickled = pickle.loads(pickle.dumps(policy))
            copies = [replace(policy), replace(policy.with_key_punctuation(), by_key=policy.by_key), pickled]
        except Exception as error:
            raise trial.broken(f"it cannot be copied: {type(error).__name__}: {error}") from error
        trial.expect(all(copy == policy for copy in copies), f"a copy is another policy: {copies[0]!r}")
        told: object = policy.describe("{} ticks".format)
        trial.expect(isinstance(told, str) and bool(told), f"describe returns {told!r}")
        kept: object = policy.starts_kept
        is_right = type(kept) is int and 0 <= kept <= MOST_ROWS + 1
        trial.expect(is_right, f"starts_kept is {kept!r}, expected a whole number from 0 to {MOST_ROWS + 1}")

    @law("return a whole number of ticks, or None if nothing can be said, also if fewer starts came than it keeps")
    def test_answers_are_ticks_or_none(self, trial: ProgressPolicyTrial) -> None:
        """Every answer is a whole number or None, also after the first row and without a clock."""
        batches = trial.batches()
        trial.answers(batches)
        trial.answers([([start], clock) for starts, clock in batches for start in starts])

    @law(
        "let no answer be smaller where more rows came, and leave rows_before alone; a policy that is meant to look at "
        "micro-batches sets depends_on_batches = True"
    )
    def test_it_makes_no_difference_where_micro_batches_end(self, trial: ProgressPolicyTrial) -> None:
        """The watermark after some rows is the same, however these were cut into micro-batches.

        Set `depends_on_batches = True` for a policy that is meant to look at them, such as
        `punctuate_every(rows=...)`.
        """
        if self.depends_on_batches:
            return
        batches = trial.batches(has_clock=False)
        rows = [start for starts, _ in batches for start in starts]
        expected = trial.furthest([(rows, None)])
        for told, cut in (("row by row", [([start], None) for start in rows]), ("as drawn", batches)):
            trial.expect_same((told, trial.furthest(cut)), ("at once", expected), 0.0)

    @law("answer from the fields and the argument alone: no clock, no random number, nothing kept in the policy")
    def test_nothing_else_is_remembered(self, trial: ProgressPolicyTrial) -> None:
        """Other rows before, a new process and a second call make no difference."""
        batches = trial.batches()
        with self.as_at_first():
            first = trial.answers(batches)
        trial.answers(trial.batches())
        trial.expect_same(("again", trial.answers(batches)), ("at first", first), 0.0)
