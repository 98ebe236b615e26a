"""Recordings, as the command reads and shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from muntin_cli.module_at_path import module_at
from muntin_cli.running import defined_in

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording
    from muntin_engine.recording.story import Story

_REPLACED: Final = re.compile(r"([a-z]\w*(?:\.\w+)+)=(.+)")
"""The name of a module, and the path of the one in its place."""

_RUN_FILE: Final = "<run_path>"
"""The `__module__` of a class that is defined in a file which `runpy` runs."""


def opened(path: Path, files: Sequence[Path], keys: Sequence[str] = ()) -> Recording:
    """Open a recording, or the part of it that has the rows of certain keys.

    Args:
        path: Folder of the recording.
        files: Files of Python that define modules of the query; and values `NAME=PATH`, which replace the module of a
            name by the one at a path.
        keys: Keys as text, each with commas between its columns; empty for the rows of all keys.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        UsageError: A file cannot be run, or a path has no module, or a text is no key of the query.
        RecordingError: The folder holds no recording, or its query no module of a name.
    """
    if find_spec("muntin_engine") is None:
        raise EnvironmentLacksError(
            "muntin-engine is not installed, which reads recordings\n  pip install 'muntin-cli[engine]'"
        )
    from muntin_engine import Recording

    options = ModuleOptions.of(files)
    recording = Recording(path, modules=modules_in(options.files))
    if options.paths:
        recording = recording.with_modules(options.replacements())
    if not keys:
        return recording
    columns = [f"{column.name} ({column.type})" for column in recording.plan.keys]
    key_tuples: list[tuple[str, ...]] = []
    for key in keys:
        # A key of one column may have a comma in its text.
        key_tuples.append(tuple(key.split(",")) if len(columns) > 1 else (key,))
    if all(len(key) == len(columns) for key in key_tuples):
        try:
            return recording.with_batches([batch.of_keys(key_tuples) for batch in recording.batches])
        except MuntinError:
            raise  # some errors of ours are a `ValueError` too, and say more than that a text is no key
        except ValueError:
            pass  # a text is no value of its column's type
    expected = ", a comma and one of ".join(columns)
    raise UsageError(f"{' or '.join(map(repr, keys))} is no key of this query\n  expected: a value of {expected}")


@dataclass(frozen=True)
class ModuleOptions:
    """The values of `--module`.

    Attributes:
        files: Files of Python that define modules of the query.
        paths: By the name of a module of the query, the path of the module in its place.
    """

    files: Sequence[Path]
    paths: Mapping[str, Path]

    @classmethod
    def of(cls, values: Sequence[Path]) -> ModuleOptions:
        """Tell files from values of the form `NAME=PATH`, where the name is that of a module, such as `trading.spread`.

        Raises:
            UsageError: A name is there twice.
        """
        files: list[Path] = []
        paths: dict[str, Path] = {}
        for value in values:
            parts = _REPLACED.fullmatch(str(value))
            if parts is None:
                files.append(value)
                continue
            name, path = parts.groups()
            if name in paths:
                raise UsageError(f"--module names {name} twice: {paths[name]} and {path}\n  leave one of them out")
            paths[name] = Path(path)
        return cls(files, paths)

    def replacements(self) -> dict[str, type[Module]]:
        """Import the modules at the paths.

        Raises:
            UsageError: A path has no module of the name.
        """
        return {name: module_at(path, name) for name, path in self.paths.items()}


def modules_in(files: Sequence[Path]) -> list[Any]:
    """Return the modules, functions, policies, triggers and windows in files: first those that the files define.

    Raises:
        UsageError: A file cannot be run.
    """
    modules: list[Any] = []
    for file in files:
        modules += filter(_is_of_queries, defined_in(file).values())
    # Of two modules of a name the first one counts, and False sorts first.
    return sorted(modules, key=lambda module: getattr(module, "__module__", "") != _RUN_FILE)


def story_of(recording: Recording, keys: Sequence[str] = ()) -> Story:
    """Return the story of a recording.

    Raises:
        UsageError: No row has any of the keys.
        RecordingError: A module of the recorded query is not installed.
    """
    story = recording.story()
    if keys and all(row.key is None for row in story.rows):
        raise UsageError(
            f"{recording.path} has no row of the key {' or '.join(map(repr, keys))}\n"
            "  without --key all of its rows are taken"
        )
    return story


def _is_of_queries(thing: object) -> bool:
    """Return True for a function, and for a class of modules, windows, triggers, refinements or policies."""
    if not isinstance(thing, type):
        return isinstance(thing, Function)
    kinds = Module | WindowSpecification | Trigger | ResultRefinement | ProgressPolicy
    return issubclass(thing, kinds) and not getattr(thing, "__abstractmethods__", ()) and thing is not Module


def spelled(row: Mapping[str, Any]) -> list[str]:
    """Return the values of a row as text, a window as its two ends."""
    return list(map(spelled_value, row.values()))


def spelled_value(value: Any) -> str:
    """Return a value as text: a window as its two ends, a null as nothing."""
    if isinstance(value, Mapping) and set(value) == {"start", "end"}:
        return f"{spelled_value(value['start'])} .. {spelled_value(value['end'])}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return "" if value is None else str(value)


def condition(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """Compile a condition on a row of results, written in Python over its columns, such as `sum_km > 100`.

    A row for which the condition raises a `TypeError` does not meet it: a null cannot be compared with a number. The
    function raises a `UsageError` for any other exception, such as that a name is no column.

    Raises:
        UsageError: The text is no expression of Python.
    """
    try:
        code = compile(text, "--where", "eval")
    except SyntaxError as error:
        raise UsageError(
            f"--where {text!r} cannot be read: {error.msg}\n  expected: a condition on columns, as 'km > 100'"
        ) from error

    def meets(row: Mapping[str, Any]) -> bool:
        """Return True if a row meets the condition.

        Raises:
            UsageError: The condition cannot be evaluated for the row.
        """
        try:
            return bool(eval(code, {"__builtins__": {}}, dict(row)))  # it is the user's own command
        except TypeError:
            return False
        except Exception as error:
            raise UsageError(
                f"--where {text!r} cannot be evaluated: {error}\n"
                f"  expected: a condition on the columns {', '.join(row)}"
            ) from error

    return meets


def changes_of(replayed: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the changes of results, each with the number of its micro-batch."""
    for batch in replayed.batches:
        for row in batch.changes:
            yield batch.number, row
