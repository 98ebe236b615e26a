"""The memory of a query that runs in this process, in words for `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin_engine.tasks.evaluator_registry import LIFTS_ROWS

if TYPE_CHECKING:
    from muntin_engine.plan import Plan


def memory_in_words(plan: Plan) -> str:
    """Say what a run of a query keeps in memory, and what goes to temporary files."""
    if not plan.choice.keeps_state:
        return "a batch of rows in each process, and the results"
    part = f"one {plan.buckets}th of the keys" if plan.buckets > 1 else "all keys"
    if plan.choice.evaluator in LIFTS_ROWS:  # it makes partial states of the rows as they are read
        in_memory = f"what `state` says, of {part} at a time in each process"
        in_files = "that of other keys waits in temporary files if it is large"
    else:
        in_memory = f"all rows of {part} at a time in each process, as Python objects"
        in_files = "rows of other keys wait in temporary files if they are many"
    if plan.buckets > 1:
        in_memory += f"; {in_files}"
    return (
        f"a batch of rows in each process; {in_memory}; and the results. "
        "Where that does not fit, give events() a DataFrame of Spark's"
    )
