"""The laws of progress policies."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from hypothesis import strategies as st

from muntin.axis import EARLIEST
from muntin.progress import MOST_ROWS, ProgressPolicy, SourceProgress
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Trial


class RowsOfBatch(NamedTuple):
    """The rows of a micro-batch, as far as a policy knows them.

    Attributes:
        starts: The starts of its rows.
        clock: The reading of the clock; None if the input brings none.
    """

    starts: Sequence[int]
    clock: int | None


class ProgressPolicyTrial(Trial):
    """Draws micro-batches of rows, and asks a policy after each."""

    tested: ProgressPolicy

    def label(self) -> str:
        """Return the name of the class of the policy."""
        return f"the progress policy {type(self.tested).__name__}"

    def batches(self, *, may_have_clock: bool = True) -> list[RowsOfBatch]:
        """Draw micro-batches, some of them without rows; half of the inputs bring a clock, if an input may have one."""
        clock: int | None = None
        if may_have_clock and not self.draw(st.booleans()):
            clock = self.draw(st.integers(0, 100))
        newest = self.draw(st.integers(-20, 20))
        batches: list[RowsOfBatch] = []
        for _ in range(self.draw(st.integers(1, 6))):
            # Steps from the newest start so far: forwards, or back by some disorder.
            starts: list[int] = []
            for _ in range(self.draw(st.integers(0, 4))):
                starts.append(newest + self.draw(st.sampled_from(self.laws.steps)))
            newest = max([newest, *starts])
            if clock is not None:
                clock += self.draw(st.sampled_from([0, 1, 20]))
            batches.append(RowsOfBatch(starts, clock))
            reading = "" if clock is None else f", clock {clock}"
            self.stream.append(f"micro-batch of {starts}{reading}")
        return batches

    def answers(self, batches: Sequence[RowsOfBatch]) -> list[int | None]:
        """Return the policy's answers: one after each micro-batch, beginning with the first that has rows."""
        starts: list[int] = []
        answers: list[int | None] = []
        last_heard: int | None = None
        for new_starts, clock in batches:
            rows_before = len(starts)
            starts += new_starts
            # The clock at the last micro-batch with rows; until there is one, at the first micro-batch of all.
            if new_starts or last_heard is None:
                last_heard = clock
            # A policy is not asked about a source that has had no rows.
            if not starts:
                continue
            latest = tuple(sorted(starts, reverse=True)[: self.tested.starts_kept])
            progress = SourceProgress(
                newest=max(starts),
                rows=len(starts),
                latest=latest,
                rows_before=rows_before,
                clock=clock,
                last_heard=last_heard,
            )
            answer: Any = self.call(f"watermark({progress})", self.tested.watermark, progress)
            is_tick = isinstance(answer, int) and not isinstance(answer, bool)
            self.expect(answer is None or is_tick, f"watermark({progress}) returned {answer!r}")
            answers.append(answer)
        return answers

    def furthest(self, batches: Sequence[RowsOfBatch]) -> int:
        """Return the watermark after all micro-batches: the furthest answer, as a watermark never goes back."""
        ticks = [answer for answer in self.answers(batches) if answer is not None]
        return max(ticks, default=EARLIEST)


class ProgressPolicyLaws(Conformance, of=ProgressPolicy, subject="policy", trial=ProgressPolicyTrial):
    """The laws of a `ProgressPolicy`, tried on random rows of one source, cut into micro-batches.

    Attributes:
        policy: The policy under test, an instance, with lengths of some ticks.
        steps: The distances of the start of a row from the newest start before it, in ticks; negative for rows that
            come late.
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
            # `with_key_punctuation` copies the policy and sets `by_key`. With `by_key` set back the copy is equal.
            with_by_key_set_back = replace(policy.with_key_punctuation(), by_key=policy.by_key)
            copies = [replace(policy), with_by_key_set_back, pickled]
        except Exception as error:
            raise trial.broken(f"it cannot be copied: {type(error).__name__}: {error}") from error
        trial.expect(all(copy == policy for copy in copies), f"a copy is another policy: {copies[0]!r}")
        description: object = policy.describe("{} ticks".format)
        trial.expect(isinstance(description, str) and bool(description), f"describe returns {description!r}")
        # A bounded disorder of n rows reads n + 1 starts.
        count: object = policy.starts_kept
        is_right = type(count) is int and 0 <= count <= MOST_ROWS + 1
        trial.expect(is_right, f"starts_kept is {count!r}, expected a whole number from 0 to {MOST_ROWS + 1}")

    @law("return a whole number of ticks, or None if nothing can be said, also if fewer starts came than it keeps")
    def test_answers_are_ticks_or_none(self, trial: ProgressPolicyTrial) -> None:
        """Every answer is a whole number or None, also after the first row and without a clock."""
        batches = trial.batches()
        trial.answers(batches)
        row_by_row: list[RowsOfBatch] = []
        for starts, clock in batches:
            row_by_row += [RowsOfBatch([start], clock) for start in starts]
        trial.answers(row_by_row)

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
        batches = trial.batches(may_have_clock=False)
        all_starts = list(chain.from_iterable(batch.starts for batch in batches))
        at_once = ("at once", trial.furthest([RowsOfBatch(all_starts, clock=None)]))
        row_by_row = trial.furthest([RowsOfBatch([start], clock=None) for start in all_starts])
        trial.expect_same(("row by row", row_by_row), at_once, tolerance=0.0)
        trial.expect_same(("as drawn", trial.furthest(batches)), at_once, tolerance=0.0)

    @law("answer from the fields and the argument alone: no clock, no random number, nothing kept in the policy")
    def test_nothing_else_is_remembered(self, trial: ProgressPolicyTrial) -> None:
        """Other rows before, a new process and a second call make no difference."""
        batches = trial.batches()
        with self.as_at_first():
            first_answers = trial.answers(batches)
            trial.answers(trial.batches())  # of another source, which must leave no trace
            trial.expect_same(("again", trial.answers(batches)), ("at first", first_answers), tolerance=0.0)
