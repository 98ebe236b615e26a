"""Errors of Spark about a text of SQL, told as ours are: at their place, with what to write below."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.sql_text.places import SqlError, closest

_CONDITION: Final = re.compile(r"^\[[\w.]+\] ")
_END: Final = re.compile(r"\s*SQLSTATE: |\n")
_SEARCH_PATH: Final = re.compile(r" on search path \[[^]]*\]")
_SENTENCES: Final = re.compile(r"(?<=[.?!]) (?=[A-Z])")
_POSITION: Final = re.compile(r"\(?line (\d+),? pos(?:ition)? (\d+)\)?")
_MISSING_TABLE: Final = "TABLE_OR_VIEW_NOT_FOUND"
_TABLE: Final = "an input is a table of its name: --input rides, or --input rides=FOLDER"


def from_spark(text: str, error: Any, tables: Iterable[str] = ()) -> QueryError:
    """Return an error of Spark's about a text, or about a query that was made of it, as one of ours.

    Args:
        text: The text of SQL.
        error: What Spark raised: an error of PySpark's, with its condition and the places that it names.
        tables: The names of the tables that the text may read.
    """
    raw = _SEARCH_PATH.sub("", _CONDITION.sub("", str(error).strip()))
    end = _END.search(raw)
    sentences = _SENTENCES.split(raw[: end.start()] if end else raw)
    said = f"{sentences[0][:1].lower()}{sentences[0][1:]}".rstrip(".")
    advice = " ".join(sentences[1:])
    if _is_missing_table(error):
        name = _named(error)
        said = f"`{name}` cannot be found"
        advice = f"{closest(name, tables)}\n{_TABLE}" if [*tables] else ""
    start = _place(text, error, str(error))
    return QueryError(f"{said}\n  {advice}".rstrip()) if start is None else SqlError(text, start, said, advice)


def _is_missing_table(error: Any) -> bool:
    return str(getattr(error, "getCondition", lambda: "")() or "") == _MISSING_TABLE


def _named(error: Any) -> str:
    """Return the name of the table that is missing."""
    return str((error.getMessageParameters() or {}).get("relationName", "")).replace("`", "")


def _place(text: str, error: Any, raw: str) -> int | None:
    """Return where in the text the error is; None if Spark says nothing that is in the text."""
    for context in getattr(error, "getQueryContext", list)() or ():
        fragment = _fragment(context)
        start = context.startIndex() if fragment else -1
        if fragment and text[start : start + len(fragment)] == fragment:
            return int(start)
        if fragment and fragment in text:
            return text.index(fragment)
    if (position := _POSITION.search(raw)) is not None:
        lines = text.split("\n")
        number = min(int(position[1]), len(lines))
        return sum(len(line) + 1 for line in lines[: number - 1]) + int(position[2])
    return None


def _fragment(context: Any) -> str:
    """Return the part of a text that an error names; empty for a place in a program."""
    return str(context.fragment()) if str(context.contextType()).endswith("SQL") else ""
