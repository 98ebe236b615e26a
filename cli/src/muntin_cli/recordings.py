"""Recordings, as the command reads and shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin import Function, Module, ResultRefinement
from muntin.errors import MuntinError
from muntin.progress import ProgressPolicy
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.running import defined_in

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording
    from muntin_engine.recording.story import Story

_OF_A_FILE: Final = "<run_path>"
"""What Python calls the module of a class that a file defines which is run."""


def opened(path: Path, files: Sequence[Path], keys: Sequence[str] = ()) -> Recording:
    """Return a recording, or the part of it that is of some keys.

    Args:
        path: Its folder.
        files: Files of Python that define modules of the query.
        keys: The keys, each as text, with commas between the columns of one.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        UsageError: A file cannot be run, or a text is no key of the query.
        RecordingError: There is no recording.
    """
    if find_spec("muntin_engine") is None:
        raise EnvironmentLacksError(
            "muntin-engine is not installed, which reads recordings\n  pip install 'muntin-cli[engine]'"
        )
    from muntin_engine import Recording

    recording = Recording(path, modules=modules_in(files))
    if not keys:
        return recording
    columns = [f"{column.name} ({column.type})" for column in recording.plan.keys]
    named = [tuple(key.split(",")) if len(columns) > 1 else (key,) for key in keys]
    try:
        if all(len(key) == len(columns) for key in named):
            return recording.with_batches([batch.of_keys(named) for batch in recording.batches])
    except ValueError as error:
        if isinstance(error, MuntinError):
            raise
    expected = ", a comma and one of ".join(columns)
    raise UsageError(f"{' or '.join(map(repr, keys))} is no key of this query\n  expected: a value of {expected}")


def modules_in(files: Sequence[Path]) -> list[Any]:
    """Return the modules, functions, policies, triggers and windows that files define; first what is their own.

    Raises:
        UsageError: A file cannot be run.
    """
    given = [thing for file in files for thing in defined_in(file).values() if _is_of_queries(thing)]
    return sorted(given, key=lambda thing: getattr(thing, "__module__", "") != _OF_A_FILE)


def story_of(recording: Recording, keys: Sequence[str] = ()) -> Story:
    """Return the story of a recording.

    Raises:
        UsageError: No row has one of the keys that were asked for.
        RecordingError: A module of it is not here.
    """
    story = recording.story()
    if keys and all(row.key is None for row in story.rows):
        raise UsageError(
            f"{recording.path} has no row of the key {' or '.join(map(repr, keys))}\n"
            "  without --key all of its rows are taken"
        )
    return story


def _is_of_queries(thing: object) -> bool:
    """Return True of a class of modules, windows, triggers, refinements or policies, and of a function."""
    if not isinstance(thing, type):
        return isinstance(thing, Function)
    kinds = Module | WindowSpecification | Trigger | ResultRefinement | ProgressPolicy
    return issubclass(thing, kinds) and not getattr(thing, "__abstractmethods__", ()) and thing is not Module


def spelled(row: Mapping[str, Any]) -> list[str]:
    """Return the values of a row, a stretch of time as its two ends."""
    return list(map(_spelled, row.values()))


def _spelled(value: Any) -> str:
    if isinstance(value, Mapping) and set(value) == {"start", "end"}:
        return f"{_spelled(value['start'])} .. {_spelled(value['end'])}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return "" if value is None else str(value)


def condition(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return a condition on a row of results, written in Python over its columns, such as `sum_km > 100`.

    A row for which it raises an error does not meet it: a null is no number.

    Raises:
        UsageError: It cannot be read.
    """
    try:
        code = compile(text, "--where", "eval")
    except SyntaxError as error:
        raise UsageError(
            f"--where {text!r} cannot be read: {error.msg}\n  expected: a condition on columns, as 'km > 100'"
        ) from error

    def meets(row: Mapping[str, Any]) -> bool:
        try:
            return bool(eval(code, {"__builtins__": {}}, dict(row)))  # it is the user's own command
        except TypeError:
            return False

    return meets


def changes_of(replayed: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the changes of results, each with the number of its micro-batch."""
    for batch in replayed.batches:
        yield from ((str(batch.number), row) for row in batch.changes)
