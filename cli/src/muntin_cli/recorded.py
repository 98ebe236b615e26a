"""Recordings that commands read; needs `muntin-engine`, but not Spark."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.evaluation import can_evaluate

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story

_TEXT: Final = "string"
_LITERALS: Final = {"true": "True", "false": "False", "null": "None"}


def story_of(folder: Path, keys: Sequence[str] = ()) -> Story:
    """Return the story of a recording, of some keys or of all.

    Args:
        folder: The recording.
        keys: Keys as text, the values of their columns separated by commas.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        RecordingError: There is no recording in the folder, or a module of it is not here.
        UsageError: A text is no key of the query, or no row has it.
    """
    if not can_evaluate():
        raise EnvironmentLacksError(
            "muntin-engine is not installed, which reads recordings\n  pip install 'muntin-cli[engine]'"
        )
    from muntin_engine.recording.recording import Recording

    recording = Recording(folder)
    columns = [(column.name, column.type) for column in recording.plan.keys]
    story = recording.story([_key(text, columns) for text in keys] or None)
    if keys and all(row.key is None for row in story.rows):
        raise UsageError(
            f"{folder} has no row of the key {' or '.join(map(repr, keys))}\n"
            "  without --key the page has all keys, and finds them"
        )
    return story


def grown(folder: Path) -> tuple[int, int]:
    """Return what differs when a recording has grown: how many files it has, and when the last one was written."""
    written = [file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()]
    return len(written), max(written, default=0)


def _key(text: str, columns: Sequence[tuple[str, str]]) -> tuple[Any, ...]:
    parts = text.split(",") if len(columns) > 1 else [text]
    if len(parts) != len(columns):
        names = ",".join(name.upper() for name, _ in columns)
        raise UsageError(
            f"{text!r} is no key of this query: it has {len(parts)} of {len(columns)} columns\n"
            f"  expected: --key {names}"
        )
    return tuple(_value(part.strip(), *column) for part, column in zip(parts, columns, strict=True))


def _value(text: str, name: str, kind: str) -> Any:
    """Return the value of a key column, which the command line has as text."""
    if kind == _TEXT:
        return text
    try:
        value = date.fromisoformat(text) if kind == "date" else literal_eval(_LITERALS.get(text.lower(), text))
        if isinstance(value, bool | int | float | date | None):
            return value
    except (ValueError, SyntaxError):
        pass
    raise UsageError(
        f"{text!r} is no {kind}, which the key column {name} is\n  without --key the page has all keys, and finds them"
    )
