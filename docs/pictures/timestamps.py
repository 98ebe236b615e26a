"""Which lifetime a result gets."""

from __future__ import annotations

from collections.abc import Iterator

from docs.pictures.bars import lifetimes, pane, result
from docs.pictures.modules import Alarm
from docs.pictures.picture import Picture
from docs.pictures.runs import inputs, outputs, play
from muntin import ClipPolicy, EmitPolicy, OutputContract, TimestampPolicy, tumbling
from muntin.drawings import Bar
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_stats import Count


def pictures() -> Iterator[Picture]:
    """Yield one picture of all policies, and one of aligned results beside time-bound ones."""
    script = Script().point("smoke", 3, "smoke").close()
    rows = lifetimes(script)
    for policy in TimestampPolicy:
        query = WindowedQuery(tumbling(10), [Computation(Alarm())], ClipPolicy.NONE, policy)
        (row,) = script.run(query)[None]
        rows += [pane("window", row)] if policy is TimestampPolicy.ALIGN else []
        rows.append(result(str(policy), row, row.value))
    title = "an operator that says [3, 14) in the window [0, 10), and its result under each policy of timestamps"
    yield Picture("timestamps", title, rows, tuple(TimestampPolicy))
    yield _contracts()


def _contracts() -> Picture:
    script = Script().point("a", 2).batch().point("b", 5).batch().point("c", 7).batch().close()
    rows: list[Bar | str] = ["what comes", *inputs(script)]
    for policy in (TimestampPolicy.ALIGN, TimestampPolicy.TIME_BOUND):
        query = EvaluatorQuery(tumbling(10), (Binding(Count()),), emit=EmitPolicy.EAGER, timestamps=policy)
        rows += [f"timestamps = {str(policy)!r}", *outputs(play(query, script))]
    title = "eager counts of a window: retracted and emitted again, or shortened and continued"
    return Picture("contracts", title, rows, (OutputContract.WINDOW_BASED, OutputContract.TIME_BOUND))
