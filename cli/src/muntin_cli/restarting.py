"""A module on a stream script, with a restart after each step; needs `muntin-engine`, but not Spark."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from muntin import EmitPolicy
from muntin.rows import RowWindows
from muntin.testing import Script, WindowedQuery
from muntin.windows.specification import Unwindowed
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.output import counted


def restarted(script: Script, query: WindowedQuery) -> Iterator[str]:
    """Run a query under each emit policy with a restart after each step, and yield a sentence for each policy.

    Row windows and stream operators have final results alone.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        ModuleError: The output changes by a restart.
        MuntinError: The engine refuses the query or the stream.
    """
    if find_spec("muntin_engine") is None:
        raise EnvironmentLacksError(
            "restarts need the engine, and muntin-engine is not installed\n  to do: pip install 'muntin-cli[engine]'"
        )
    from muntin_engine.testing import crash_everywhere

    policies = list(EmitPolicy)
    if isinstance(query.window, RowWindows | Unwindowed):
        policies = [EmitPolicy.FINAL]
    for emit in policies:
        report = crash_everywhere(script, query, emit=emit)
        evaluators = ", ".join(map(str, report.evaluators))
        yield f"{emit} results survived a restart after each of {counted(report.steps, 'step')} ({evaluators})"
