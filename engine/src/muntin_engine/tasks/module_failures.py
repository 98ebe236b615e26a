"""An exception of a module in a task: it gets its window in the words of the query.

The evaluators give it the module, the key and the ticks of the window; only the query knows what ticks mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muntin.errors import ModuleFailedError
from muntin_engine.wire.task_payload import TaskPayload


@contextmanager
def windows_in_words(task: TaskPayload) -> Iterator[None]:
    """Spell the window of an exception that a module raises in the block.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    try:
        yield
    except ModuleFailedError as error:
        error.say_window(task.plan.words.axis.spell_interval)
        raise
