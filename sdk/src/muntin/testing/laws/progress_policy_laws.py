"""The laws of progress policies."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from hypothesis import strategies as st

from muntin.axis import EARLIEST
from muntin.progress import MOST_ROWS, ProgressPolicy, SourceProgress
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law, law
from muntin.testing.laws.outside import Outside
from muntin.testing.laws.trial import Trial

Arrived: TypeAlias = tuple[Sequence[int], int | None]
"""A micro-batch: the starts of its rows, and the reading of the clock."""


class ProgressPolicyTrial(Trial):
    """Draws micro-batches of rows, and asks a policy after each.

    Attributes:
        policy: The policy.
    """

    def __init__(self, law: Law, policy: ProgressPolicy, steps: Sequence[int], data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, f"the progress policy {type(policy).__name__}", 0.0, data)
        self.policy = policy
        self._steps = steps

    def batches(self, *, has_clock: bool | None = None) -> list[Arrived]:
        """Draw micro-batches, some of them without rows; with a clock or without, or as it is drawn."""
        clock = None if has_clock is False or self.draw(st.booleans()) else self.draw(st.integers(0, 100))
        newest, found = self.draw(st.integers(-20, 20)), list[Arrived]()
        for _ in range(self.draw(st.integers(1, 6))):
            starts = [newest + self.draw(st.sampled_from(self._steps)) for _ in range(self.draw(st.integers(0, 4)))]
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
                latest = tuple(sorted(starts, reverse=True)[: self.policy.starts_kept])
                seen = SourceProgress(max(starts), len(starts), latest, before, clock, last_heard)
                found.append(self._answer(seen))
        return found

    def furthest(self, batches: Sequence[Arrived]) -> int:
        """Return the watermark after all micro-batches."""
        return max((said for said in self.answers(batches) if said is not None), default=EARLIEST)

    def _answer(self, seen: SourceProgress) -> int | None:
        __tracebackhide__ = True
        try:
            said: object = self.policy.watermark(seen)
        except Exception as error:
            raise self.broken(f"watermark({seen}) raised {type(error).__name__}: {error}") from error
        if said is not None and (isinstance(said, bool) or not isinstance(said, int)):
            raise self.broken(f"watermark({seen}) returned {said!r}")
        return said


class ProgressPolicyLaws(Conformance):
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

    _subject_name: ClassVar[str] = "policy"
    _subject_type: ClassVar[type] = ProgressPolicy
    _outside: ClassVar[Outside]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls._subject_name in vars(cls):
            cls._outside = Outside(cls.subject())

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        body(cls(), ProgressPolicyTrial(law, cls.subject(), cls.steps, data))

    @law(
        "make it a frozen dataclass at the top of a file, whose fields are numbers and text, and describe it in words",
        is_random=False,
    )
    def test_definition_is_complete(self, trial: ProgressPolicyTrial) -> None:
        """The policy is a frozen dataclass that can be pickled, and says what it does and how many starts it reads."""
        policy: Any = trial.policy
        try:
            copies = [replace(policy), replace(policy.with_key_punctuation(), by_key=policy.by_key), _pickled(policy)]
        except Exception as error:
            raise trial.broken(f"it cannot be copied: {type(error).__name__}: {error}") from error
        trial.expect(all(copy == policy for copy in copies), lambda: f"a copy is another policy: {copies[0]!r}")
        told: object = policy.describe("{} ticks".format)
        trial.expect(isinstance(told, str) and bool(told), lambda: f"describe returns {told!r}")
        kept: object = policy.starts_kept
        is_right = type(kept) is int and 0 <= kept <= MOST_ROWS + 1
        trial.expect(is_right, lambda: f"starts_kept is {kept!r}, expected a whole number from 0 to {MOST_ROWS + 1}")

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
        """The watermark after some rows is the same, however these were cut into micro-batches."""
        if self.depends_on_batches:
            return
        batches = trial.batches(has_clock=False)
        rows = [start for starts, _ in batches for start in starts]
        at_once, one_by_one = [(rows, None)], [([start], None) for start in rows]
        expected = trial.furthest(at_once)
        for told, cut in (("row by row", one_by_one), ("as drawn", batches)):
            trial.expect_same((told, trial.furthest(cut)), ("at once", expected), 0.0)

    @law("answer from the fields and the argument alone: no clock, no random number, nothing kept in the policy")
    def test_nothing_else_is_remembered(self, trial: ProgressPolicyTrial) -> None:
        """Other rows before, a new process and a second call make no difference."""
        batches = trial.batches()
        with self._outside.restored():
            first = trial.answers(batches)
        trial.answers(trial.batches())
        trial.expect_same(("again", trial.answers(batches)), ("at first", first), 0.0)


def _pickled(policy: object) -> object:
    copy: object = pickle.loads(pickle.dumps(policy))
    return copy
