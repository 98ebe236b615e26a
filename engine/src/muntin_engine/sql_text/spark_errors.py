"""Errors of Spark about a text of SQL, shown as ours are: with their line, a caret below the place, and advice."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.sql_text.sql_source import SqlError, did_you_mean

_CONDITION: Final = re.compile(r"^\[[\w.]+\] ")
_END: Final = re.compile(r"\s*SQLSTATE: |\n")
_SEARCH_PATH: Final = re.compile(r" on search path \[[^]]*\]")
_SENTENCES: Final = re.compile(r"(?<=[.?!]) (?=[A-Z])")
_POSITION: Final = re.compile(r"\(?line (\d+),? pos(?:ition)? (\d+)\)?")
_MISSING_TABLE: Final = "TABLE_OR_VIEW_NOT_FOUND"
_ADVICE_ON_TABLES: Final = "an input is a table of its name: --input rides, or --input rides=FOLDER"


def from_spark(text: str, error: Any, tables: Collection[str] = ()) -> QueryError:
    """Turn an error of Spark's about a text, or about a query that was made of it, into an error of Muntin's.

    Args:
        text: The text of SQL.
        error: The error of PySpark's, with its condition and the places that it names.
        tables: The names of the tables that the text may read.
    """
    # The message without what Spark adds for programs: the condition before it, the search path in it, the SQLSTATE and
    # the plan after it.
    message = _CONDITION.sub("", str(error).strip())
    message = _SEARCH_PATH.sub("", message)
    end = _END.search(message)
    if end is not None:
        message = message[: end.start()]

    # The first sentence of the message says what is wrong, the others what to do.
    first_sentence, *other_sentences = _SENTENCES.split(message)
    fact = f"{first_sentence[:1].lower()}{first_sentence[1:]}".rstrip(".")
    advice = " ".join(other_sentences)
    if _is_missing_table(error):
        name = _missing_table(error)
        fact = f"`{name}` cannot be found"
        advice = f"{did_you_mean(name, tables)}\n{_ADVICE_ON_TABLES}" if tables else ""

    start = _position_of(error, text)
    if start is None:
        return QueryError(f"{fact}\n  {advice}".rstrip())
    return SqlError(text, start, fact, advice)


def _is_missing_table(error: Any) -> bool:
    """Return True if an error of Spark's says that there is no table of a name."""
    get_condition = getattr(error, "getCondition", None)  # errors of Python code have no condition
    return get_condition is not None and str(get_condition() or "") == _MISSING_TABLE


def _missing_table(error: Any) -> str:
    """Return the name of the table that is missing, without quotes."""
    parameters = error.getMessageParameters() or {}
    return str(parameters.get("relationName", "")).replace("`", "")


def _position_of(error: Any, text: str) -> int | None:
    """Return the position of an error of Spark's in a text; None if Spark names no place, or one in another text.

    Spark names places in the SQL that it runs. That may be a part of the text alone, so the words at a place count more
    than its position.
    """
    get_contexts = getattr(error, "getQueryContext", None)  # errors of Python code have no contexts
    contexts = (get_contexts() if get_contexts is not None else None) or ()
    for context in contexts:
        fragment = _fragment(context)
        if not fragment:
            continue
        start = int(context.startIndex())
        if text[start : start + len(fragment)] == fragment:
            return start
        if fragment in text:
            return text.index(fragment)

    # A text that cannot be parsed: the message has the number of a line, from 1, and of a character in it, from 0.
    position = _POSITION.search(str(error))
    if position is None:
        return None
    lines = text.split("\n")
    line = min(int(position[1]), len(lines))
    start_of_line = sum(len(earlier) + 1 for earlier in lines[: line - 1])
    return start_of_line + int(position[2])


def _fragment(context: Any) -> str:
    """Return the part of a text of SQL that the context of an error names; empty for a context in a program."""
    return str(context.fragment()) if str(context.contextType()).endswith("SQL") else ""
