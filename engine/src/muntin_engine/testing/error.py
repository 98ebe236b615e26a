"""The report of a query that does not survive a restart."""

from __future__ import annotations

from muntin.errors import ModuleError
from muntin_engine.testing.difference import OutputDifference
from muntin_engine.testing.following import Mishap

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
        evaluator: What evaluated the query.
        mishap: What happened: `restart` after a step, `crash` in one, `second run` if each run has a different output,
            or `nothing` if it differs from the reference without a restart.
        step: The number of the step, from 1, after which the output is another, or which raised.
        stream: The smallest stream found that shows it, as a time line.
    """

    def __init__(self, found: OutputDifference) -> None:
        self.evaluator: str = found.evaluator
        self.mishap: Mishap = found.mishap
        self.step = found.place + 1
        self.stream = found.drawing
        if found.breaks_contract:
            claim = "promises contract = OutputContract.TIME_BOUND, and breaks it"
        elif found.error and found.mishap is Mishap.NOTHING:
            claim = "cannot be evaluated"
        else:
            claim = _CLAIMS[found.mishap]
        labels = ", ".join(f"{each.module.name} {each.module.version}" for each in found.tested.query.computations)
        told = [found.facts, "smallest stream:", _indented(self.stream), f"to do: {found.remedy}"]
        super().__init__("\n".join([f"{labels} {claim}", *map(_indented, told)]))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
