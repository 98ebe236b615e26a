"""The questions that other processes are asked, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.lasting import LastingHops
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.questions.snapshots import Snapshot

_KINDS: Final[dict[str, type[Question]]] = {
    kind.__name__: kind for kind in (Hopping, LastRows, LastingHops, Session, Snapshot)
}


def to_data(question: Question) -> dict[str, Any]:
    """Return a question as JSON-able data."""
    return asdict(question) | {"kind": type(question).__name__}


def from_data(data: dict[str, Any]) -> Question:
    """Return the question that `to_data` wrote."""
    fields = dict(data)
    kind = _KINDS[fields.pop("kind")]
    return kind(**fields)
