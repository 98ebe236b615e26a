"""One attempt to find a restart that shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from muntin import ClipPolicy, EarlyEmission, EmitPolicy, Needs, TimestampPolicy
from muntin.testing import Computation, LawError, WindowedQuery
from muntin.testing.laws.trial import Law, Trial
from muntin.windows import WindowKind, WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.testing.difference import OutputDifference
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.searching import Search
from muntin_engine.testing.streams import scripts


class RestartTrial(Trial):
    """Draws a stream and a query of a module, and runs it with restarts."""

    def __init__(self, law: Law, laws: Any, data: Any, windows: Sequence[WindowSpecification]) -> None:
        """Prepare an attempt."""
        super().__init__(law, laws, data)
        self._windows = windows

    def survives(self, kind: str, emit: EmitPolicy | EarlyEmission) -> None:
        """Raise unless no restart shows in the output of the general evaluator.

        Args:
            kind: What kind of stream is drawn, see `scripts`.
            emit: The emission of results.
        """
        tested = self._tested(kind, emit)
        self._expect_none(tested, tested.evaluators[:1])

    @property
    def kinds_over_slices(self) -> list[str]:
        """The kinds of streams that are evaluated over slices: states of Python are merged for points alone."""
        return ["points", "intervals"] if hasattr(self.tested, "columnar_form") else ["points"]

    def survives_over_slices(self, kind: str) -> None:
        """Raise unless no restart shows in the output of the evaluators over slices."""
        tested = self._tested(kind, EmitPolicy.FINAL)
        self._expect_none(tested, tested.evaluators[1:])

    def _tested(self, kind: str, emit: EmitPolicy | EarlyEmission) -> QueryUnderTest:
        window = self.draw(st.sampled_from(_sufficient(self._windows, self.tested.needs)))
        clips = [each for each in ClipPolicy if each in self.tested.accepted_clips]
        clip = self.draw(st.sampled_from(clips)) if isinstance(window, WindowKind) else ClipPolicy.NONE
        timestamps = self.draw(st.sampled_from(_timestamps(self.tested, window)))
        order = repr if self.tested.reads_order else None  # another one than that of arrival
        query = WindowedQuery(window, [Computation(self.tested)], clip, timestamps, order=order)
        return QueryUnderTest(self.draw(scripts(self.laws._payload_strategy(), kind)), query, emit)

    def _expect_none(self, tested: QueryUnderTest, evaluators: Sequence[str]) -> None:
        search = Search(tested, self.tolerance)
        found = search.first(evaluators)
        if found is not None:
            told = search.alone(found)
            raise self._report(told) from told.error

    def _report(self, found: OutputDifference) -> LawError:
        return LawError(self.law.name, self.law.statement, self.module, found.facts, found.drawing, found.remedy)


def _sufficient(windows: Sequence[WindowSpecification], needs: Needs) -> list[WindowSpecification]:
    """Return the windows in which a module finds something, with the reach that it needs."""
    wide = [window.with_reach(needs.reach) for window in windows]
    return [window for window in wide if not needs.lacks(window)] or list(windows)


def _timestamps(module: Any, window: WindowSpecification) -> list[TimestampPolicy]:
    sets_own = module.is_time_sensitive and module.is_operator and isinstance(window, WindowKind)
    if isinstance(window, Unwindowed):
        return [TimestampPolicy.ALIGN]
    own = [TimestampPolicy.UNCHANGED] if sets_own else []
    return [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END, *own]
