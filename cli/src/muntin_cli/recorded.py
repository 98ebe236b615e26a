"""The stories of recordings; needs `muntin-engine`, but not Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.errors import MuntinError
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.evaluation import can_evaluate

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story


def story_of(folder: Path, keys: Sequence[str] = ()) -> Story:
    """Return the story of a recording, of some keys or of all.

    Args:
        folder: The recording.
        keys: Keys as text, the values of their columns separated by commas.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        RecordingError: There is no recording in the folder, or a module of it is not here.
        UsageError: No row has one of the keys.
    """
    if not can_evaluate():
        raise EnvironmentLacksError(
            "muntin-engine is not installed, which reads recordings\n  pip install 'muntin-cli[engine]'"
        )
    from muntin_engine import Recording

    recording = Recording(folder)
    names = [column.name for column in recording.plan.keys]
    named = [tuple(key.split(",")) if len(names) > 1 else (key,) for key in keys]
    for key, values in zip(keys, named, strict=True):
        if len(values) != len(names):
            raise UsageError(
                f"{key!r} is no key of this query: it has {len(values)} of {len(names)} columns\n"
                f"  expected: --key {','.join(names).upper()}"
            )
    try:
        story = recording.story(named or None)
    except ValueError as error:  # of a key that is no value of its column's type
        if isinstance(error, MuntinError):
            raise
        raise UsageError(f"{', '.join(keys)} cannot be keys of this query: {error}") from error
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
