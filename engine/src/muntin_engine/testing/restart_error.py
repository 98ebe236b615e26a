"""The report of a query that does not survive a restart."""

from __future__ import annotations

from muntin.errors import ModuleError
from muntin_engine.testing.output_difference import OutputDifference
from muntin_engine.testing.stepwise_run import Mishap

_CLAIMS = {
    Mishap.NOTHING: "is not evaluated as the reference evaluates it",
    Mishap.SECOND_RUN: "gives another output each time",
    Mishap.RESTART: "does not survive a restart",
    Mishap.CRASH: "does not survive a crash",
}


class RestartError(ModuleError, AssertionError):
    """A restart, or a crash, shows in the output of a query; the module writer must act.

    The message draws the smallest stream and the output with and without the restart, and says what to do.

    Attributes:
        evaluator: The name of the evaluator.
        mishap: The mishap: `restart` after a step, `crash` in one, `second run` if each run has a different output,
            or `nothing` if it differs from the reference without a restart.
        step: The number of the step, from 1, after which the output differs, or which raised.
        stream: The smallest stream found that shows it, as a time line.
    """

    def __init__(self, difference: OutputDifference) -> None:
        self.evaluator: str = difference.evaluator
        self.mishap: Mishap = difference.mishap
        self.step = difference.place + 1
        self.stream = difference.drawing

        # A module that breaks its promise is the only cause of such a difference, so that comes first.
        if difference.breaks_contract:
            claim = "promises contract = OutputContract.TIME_BOUND, and breaks it"
        elif difference.error and difference.mishap is Mishap.NOTHING:
            claim = "cannot be evaluated"
        else:
            claim = _CLAIMS[difference.mishap]

        modules = [computation.module for computation in difference.tested.query.computations]
        labels = ", ".join(f"{module.name} {module.version}" for module in modules)
        parts = [difference.facts, "smallest stream:", _indented(self.stream), f"to do: {difference.remedy}"]
        super().__init__("\n".join([f"{labels} {claim}", *map(_indented, parts)]))


def _indented(text: str) -> str:
    """Return text with each line moved to the right."""
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
