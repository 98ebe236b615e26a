"""Errors of Spark about a text of SQL, shown as ours are: with their line, a caret below the place, and advice."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.sql_text.sql_source import SqlError, closest

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
        error: The error of PySpark's, with its condition and the places that it names.
        tables: The names of the tables that the text may read.
    """
    raw = _SEARCH_PATH.sub("", _CONDITION.sub("", str(error).strip()))
    end = _END.search(raw)
    sentences = _SENTENCES.split(raw[: end.start()] if end else raw)
    fact = f"{sentences[0][:1].lower()}{sentences[0][1:]}".rstrip(".")
    advice = " ".join(sentences[1:])
    if _is_missing_table(error):
        name = _named(error)
        fact = f"`{name}` cannot be found"
        advice = f"{closest(name, tables)}\n{_TABLE}" if [*tables] else ""
    start = _place(text, error, str(error))
    return QueryError(f"{fact}\n  {advice}".rstrip()) if start is None else SqlError(text, start, fact, advice)


def _is_missing_table(error: Any) -> bool:
    return str(getattr(error, "getCondition", lambda: "")() or "") == _MISSING_TABLE


def _named(error: Any) -> str:
    """Return the name of the table that is missing."""
    return str((error.getMessageParameters() or {}).get("relationName", "")).replace("`", "")


def _place(text: str, error: Any, raw: str) -> int | None:
    """Return the place of an error in the text; None if Spark names none that is in the text.

    Args:
        text: The text.
        error: The error.
        raw: The text of the error.
    """
    for context in getattr(error, "getQueryContext", list)() or ():
        fragment = _fragment(context)
        if not fragment:
            continue
        start = int(context.startIndex())
        if text[start : start + len(fragment)] == fragment:
            return start
        if fragment in text:
            return text.index(fragment)
    position = _POSITION.search(raw)
    if position is None:
        return None
    lines = text.split("\n")
    line = min(int(position[1]), len(lines))
    start_of_line = sum(len(earlier) + 1 for earlier in lines[: line - 1])
    return start_of_line + int(position[2])


def _fragment(context: Any) -> str:
    """Return the part of a text that an error names; empty for a place in a program."""
    return str(context.fragment()) if str(context.contextType()).endswith("SQL") else ""
