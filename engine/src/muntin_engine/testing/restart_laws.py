"""The laws of a module that only a restart of the engine can show broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import pytest
from hypothesis import strategies as st

from muntin import (
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    IntervalOperator,
    Refinement,
    RowOperator,
    StreamOperator,
    count_by_start,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.rows import RowWindows, batch, elapsed, last
from muntin.testing.laws.conformance import law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.trial import Law, named
from muntin.triggers import every_count
from muntin.windows import WindowKind, WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.testing.restart_trial import RestartTrial

_REMEDY: Final = "keep all that a result depends on in the state, as plain data"


def _follows(module: Any) -> str | None:
    """Return the reason why laws over windows of time do not apply: the module follows rows; None if they apply."""
    if isinstance(module, StreamOperator):
        return f"{named(module)} follows a stream"
    return f"{named(module)} follows rows" if isinstance(module, RowOperator) else None


def _is_windowed(module: Any) -> str | None:
    """Return the reason why the law without windows does not apply: the module is for windows; None if it applies."""
    return None if isinstance(module, StreamOperator) else f"{named(module)} is for windows"


def _wants_other_windows(module: Any) -> str | None:
    """Return the reason why the law of row windows does not apply: the module needs others; None if it applies."""
    if ClipPolicy.NONE not in module.accepted_clips:
        return f"{named(module)} wants lifetimes clipped, and rows are points"
    lacking = module.needs.lacks(last(2))  # which stands for all windows that follow rows
    return f"{named(module)} {lacking}" if lacking else None


def _is_never_sliced(module: Any) -> str | None:
    """Return the reason why no evaluator over slices can run a module; None if one can."""
    if module.is_time_sensitive:
        return f"{named(module)} is time-sensitive"
    if module.reads_order:
        return f"{named(module)} reads the order of events"
    if hasattr(module, "combine") or hasattr(module, "columnar_form"):
        return None
    return f"{named(module)} has no combine and no columnar_form"


class RestartLaws(ModuleLaws):
    """No restart shows in the output of a module: subclass it, give it a module of any base class.

    Random streams of the module's payloads run through the engine's evaluators, without Spark, as `crash_everywhere`
    runs one: with a restart after each step, and with a crash in each.

    Attributes:
        windows: The windows that are tried, row windows among them; by default a few of each kind.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[int, int]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> class TestLargestRestarts(RestartLaws):
        ...     module = Largest()
        >>> TestLargestRestarts().test_final_results_survive_restarts()
    """

    windows: ClassVar[Sequence[WindowSpecification]] = (
        tumbling(8),
        hopping(10, 4),
        hopping(3, 5),
        tumbling(6, reach=4),
        snapshot(),
        session(5),
        count_by_start(2),
        last(2),
        last(elapsed(9)).trigger(2),
        batch(2),
        batch(elapsed(8)),
    )

    @classmethod
    def crowd(cls) -> int:
        """Return 0: no windows are made large on purpose."""
        return 0

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once, over the windows that it is about.

        Args:
            law: The law.
            body: The method of the law, called with a laws object and a trial.
            data: The data from Hypothesis that the trial draws from.
        """
        windows = cls._windows_of(law)
        if not windows:
            pytest.skip(f"does not apply: there are no such windows among {', '.join(map(str, cls.windows))}")
        body(cls(), RestartTrial(law, cls, data, windows))

    @classmethod
    def _windows_of(cls, law: Law) -> Sequence[WindowSpecification]:
        """Return the windows over which a law is tried."""
        if law.name == _WITHOUT_WINDOWS:
            return [Unwindowed()]
        if law.name == _OVER_ROWS:
            return [window for window in cls.windows if isinstance(window, RowWindows)]
        time_windows = [window for window in cls.windows if isinstance(window, WindowKind)]
        if law.name == _OVER_SLICES:
            return _windows_of_merged_states(time_windows)
        return time_windows

    @law(_REMEDY, does_not_apply=_follows)
    def test_final_results_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show in final results."""
        trial.check_restarts("revised", EmitPolicy.FINAL)

    @law(_REMEDY, does_not_apply=_follows)
    def test_speculative_results_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show in results that may be retracted."""
        trial.check_restarts("revised", EmitPolicy.SPECULATIVE)

    @law(_REMEDY, does_not_apply=_follows)
    def test_eager_results_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show in the results of windows that are open."""
        trial.check_restarts("revised", EmitPolicy.EAGER)

    @law(_REMEDY, does_not_apply=_follows)
    def test_early_results_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show in results that a trigger emits early."""
        trial.check_restarts("intervals", EarlyEmission(every_count(1), Refinement.RETRACT))

    @law(_REMEDY, does_not_apply=_is_never_sliced)
    def test_results_over_slices_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show where windows are made of slices, or fused.

        Skipped for a module that is time-sensitive, and for one without `combine` and `columnar_form`.
        """
        kind = trial.draw(st.sampled_from(trial.kinds_over_slices))
        trial.check_restarts_over_slices(kind)

    @law(_REMEDY, does_not_apply=_wants_other_windows)
    def test_results_of_row_windows_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show where windows follow rows, in either output.

        For an operator that follows rows it is the only one of these laws. Skipped for a module that wants
        lifetimes clipped, or other windows.
        """
        trial.check_restarts("points", EmitPolicy.FINAL)

    @law(_REMEDY, does_not_apply=_is_windowed)
    def test_results_without_windows_survive_restarts(self, trial: RestartTrial) -> None:
        """A restart after any step, or a crash in it, does not show where an operator follows a stream.

        For an operator that follows a stream it is the only one of these laws; it is skipped for all others.
        """
        # Only an `IntervalOperator` is told of ends, and so of revisions.
        kind = "revised" if isinstance(self.subject(), IntervalOperator) else "points"
        trial.check_restarts(kind, EmitPolicy.FINAL)


_WITHOUT_WINDOWS: Final = "results without windows survive restarts"
_OVER_SLICES: Final = "results over slices survive restarts"
_OVER_ROWS: Final = "results of row windows survive restarts"


def _windows_of_merged_states(windows: Sequence[WindowKind]) -> list[WindowKind]:
    """Return the windows whose results are merged from partial states."""
    merged: list[WindowKind] = []
    for window in windows:
        has_slices = window.grid() is not None
        is_fused = window.fuses_within() is not None
        if has_slices or is_fused:
            merged.append(window)
    return merged
