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
from muntin_engine.testing.difference_search import Search
from muntin_engine.testing.drawn_streams import scripts
from muntin_engine.testing.output_difference import OutputDifference
from muntin_engine.testing.query_under_test import QueryUnderTest


class RestartTrial(Trial):
    """Draws a stream and a query of a module, and runs it with restarts."""

    def __init__(self, law: Law, laws: Any, data: Any, windows: Sequence[WindowSpecification]) -> None:
        """Prepare an attempt over some windows; the other arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        self._windows = windows

    def check_restarts(self, kind: str, emit: EmitPolicy | EarlyEmission) -> None:
        """Raise if a restart shows in the output of the general evaluator.

        Args:
            kind: The kind of stream that is drawn, see `scripts`.
            emit: The emission of results.
        """
        tested = self._tested(kind, emit)
        self._check_no_difference(tested, tested.evaluators[:1])  # the most general one comes first

    @property
    def kinds_over_slices(self) -> list[str]:
        """The kinds of streams that are evaluated over slices: without a columnar form, these are points alone."""
        return ["points", "intervals"] if hasattr(self.tested, "columnar_form") else ["points"]

    def check_restarts_over_slices(self, kind: str) -> None:
        """Raise if a restart shows in the output of the evaluators over slices.

        Args:
            kind: The kind of stream that is drawn, see `scripts`.
        """
        tested = self._tested(kind, EmitPolicy.FINAL)
        self._check_no_difference(tested, tested.evaluators[1:])  # all but the most general one

    def _tested(self, kind: str, emit: EmitPolicy | EarlyEmission) -> QueryUnderTest:
        """Draw a query of the module, under policies that it takes, and a stream for it.

        Args:
            kind: The kind of stream that is drawn, see `scripts`.
            emit: The emission of results.
        """
        window = self.draw(st.sampled_from(_sufficient(self._windows, self.tested.needs)))
        clip = ClipPolicy.NONE
        if isinstance(window, WindowKind):
            clips = [clip for clip in ClipPolicy if clip in self.tested.accepted_clips]
            clip = self.draw(st.sampled_from(clips))
        timestamps = self.draw(st.sampled_from(_timestamps(self.tested, window)))
        order = repr if self.tested.reads_order else None  # an order that differs from that of arrival
        query = WindowedQuery(window, [Computation(self.tested)], clip=clip, timestamps=timestamps, order=order)
        script = self.draw(scripts(self.laws._payload_strategy(), kind))
        return QueryUnderTest(script, query, emit)

    def _check_no_difference(self, tested: QueryUnderTest, evaluators: Sequence[str]) -> None:
        """Raise `LawError` if a mishap shows in the output of an evaluator."""
        search = Search(tested, self.tolerance)
        difference = search.first(evaluators)
        if difference is not None:
            smallest_difference = search.with_single_mishap(difference)
            raise self._report(smallest_difference) from smallest_difference.error

    def _report(self, difference: OutputDifference) -> LawError:
        """Return the report of a broken law from the difference that a mishap made."""
        return LawError(
            self.law.name,
            self.law.statement,
            self.module,
            difference.facts,
            difference.drawing,
            difference.remedy,
        )


def _sufficient(windows: Sequence[WindowSpecification], needs: Needs) -> list[WindowSpecification]:
    """Return the windows that meet the needs of a module, with the reach that it needs.

    If none does, all windows are returned: then the engine refuses the query with the reason.
    """
    with_reach = [window.with_reach(needs.reach) for window in windows]
    sufficient = [window for window in with_reach if not needs.lacks(window)]
    return sufficient or list(windows)


def _timestamps(module: Any, window: WindowSpecification) -> list[TimestampPolicy]:
    """Return the timestamp policies that a module can run under.

    `UNCHANGED` keeps the lifetimes that the module itself returns, so it is for modules that return them.
    """
    if isinstance(window, Unwindowed):
        return [TimestampPolicy.ALIGN]
    policies = [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END]
    if module.is_time_sensitive and module.is_operator and isinstance(window, WindowKind):
        policies.append(TimestampPolicy.UNCHANGED)
    return policies
