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
    """Yield for each way to put results out what survived restarts; streams in order have final results alone.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        ModuleError: A restart shows in the output.
        MuntinError: The engine would not take the query or the stream.
    """
    if find_spec("muntin_engine") is None:
        raise EnvironmentLacksError(
            "restarts need the engine, and muntin-engine is not installed\n  to do: pip install 'muntin-cli[engine]'"
        )
    from muntin_engine.testing import crash_everywhere

    for emit in [EmitPolicy.FINAL] if isinstance(query.window, RowWindows | Unwindowed) else EmitPolicy:
        survived = crash_everywhere(script, query, emit=emit)
        evaluators = ", ".join(map(str, survived.evaluators))
        yield f"{emit} results survived a restart after each of {counted(survived.steps, 'step')} ({evaluators})"
