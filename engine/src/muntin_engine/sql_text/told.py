"""Errors of the calls that a text of SQL stands for, told in SQL: at their place, with what to write in its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from muntin.errors import QueryError
from muntin_engine.sql_text.modules import AGGREGATES
from muntin_engine.sql_text.places import SqlError, SqlText, span_of
from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.windows import FUNCTIONS

_CLAUSES: Final = {
    **{"watermark": "WATERMARK DELAY OF", "late_policy": "LATE", "emit": "EMIT", "clip": "CLIP"},
    **{"timestamps": "TIMESTAMPS", "evaluator": "EVALUATOR", "forget_keys_after": "FORGET KEYS AFTER"},
    **{"key": "PARTITION BY", "order": "ORDER BY", "at": "DESCRIPTOR", "start": "DESCRIPTOR", "end": "DESCRIPTOR"},
    **{"how": "", "on": "ON", "left_columns": "SELECT l.km", "right_columns": "SELECT r.km"},
}
"""The words of SQL for the parameters of calls; others are arguments by their own names."""

_JOINS: Final = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
_CALLS: Final = {function.window: name for name, function in FUNCTIONS.items()} | {"events": "EVENTS"}
_ARGUMENT: Final = re.compile(r"\b(?!modules=)([a-z_]+)=(?!=)('[^']*'|\[[^]]*\]|\w+\([^()]*\)|[\w.]*)")
_REST: Final[tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]] = (
    (r"early\(\.\.\., REFINEMENT => '(\w+)'\)", r"EMIT EARLY ... \1"),
    (r"F\.col\('(\w+)'\)\.cast\('(\w+)'\)", r"CAST(\1 AS \2)"),
    (r"F\.(?:col\('(\w+)'\)|lit\(('\w+')\))", r"\1\2"),
    (r"\bF\.(\w+\()", r"\1"),
    (r" or timedelta\([^)]*\)", ""),
    (r"EVENTS\(\.\.\., ORDER BY (\w+)\)", r"TABLE ... ORDER BY \1"),
    (rf"\b({'|'.join(FUNCTIONS)})\('([^']*)'", r"\1(TABLE ..., INTERVAL '\2'"),
    (rf"\b({'|'.join(FUNCTIONS)})\((?=[\d)])", r"\1(TABLE ..., "),
    (r"(TABLE \.\.\., (?:INTERVAL )?'?[\w ]+'?), '([^']*)'", r"\1, INTERVAL '\2'"),
    (r"give EVENTS\(\) a delay, such as", "give the table a clause, such as"),
    (r"a change column with", "CHANGE => kind with"),
    (r"^it accepts '(full|left|right|none)'", lambda found: f"write CLIP {found[1].upper()}"),
    (r"^as_events takes", "a stream of results takes"),
)
"""What is left of Python in messages, and the same in SQL."""

_PATH: Final = re.compile(r"query(?:\[\d+\]|\.\w+)*: ")


def told(source: SqlText, steps: Steps, error: QueryError) -> QueryError:
    """Return an error about the calls of steps as one of the text that they were read from.

    Args:
        source: The text, which knows the nodes that steps were read from.
        steps: The steps.
        error: What a call raised; its message may begin with the path of a step in the data.
    """
    message = str(error)
    paths = "".join(found.group() for found in _prefixes(message))
    node, within = _node(source, steps, paths)
    message = re.sub(r"^\w+Error: ", "", message[len(paths) :])
    said, _, advice = message.partition("\n")
    low, high = span_of(within)
    low, high = (low, high) if high else (0, len(source.text))
    start = span_of(node)[0] if node is not None else low
    for pattern in _patterns(said, paths):
        if found := re.search(pattern, source.text[low:high], re.IGNORECASE):
            start = low + found.start()
            break
    return SqlError(source.text, start, in_sql(said), in_sql(advice.replace("\n  ", "\n").strip()))


def in_sql(message: str) -> str:
    """Return a message that shows calls of Python with the words of SQL."""
    written = _ARGUMENT.sub(_argument, message)
    for call, name in _CALLS.items():
        written = re.sub(rf"(?<![\w.]){call}\(", f"{name}(", written)
    for pattern, words in _REST:
        written = re.sub(pattern, words, written)
    return written


def _argument(found: re.Match[str]) -> str:
    name, value = found.groups()
    text = value.strip("'")
    if re.fullmatch(r"-?\d+(\.\d+)? \w+( \d+ \w+)*", text):
        value = f"INTERVAL '{text}'"
    elif name == "how":
        value = _JOINS.get(text, "JOIN")
    elif name in _CLAUSES and value[:1] == "'":
        value = text if name in ("key", "order", "at", "start", "end") else text.partition("(")[0].upper()
    value = re.sub(r"^\[(.*)\]$", r"ARRAY(\1)", {"True": "TRUE", "False": "FALSE"}.get(value, value))
    if "_columns" in name:
        return _CLAUSES[name]
    return f"{_CLAUSES[name]} {value}".strip() if name in _CLAUSES else f"{name.upper()} => {value}"


def _prefixes(message: str) -> Iterator[re.Match[str]]:
    place = 0
    while found := _PATH.match(message, place):
        yield found
        place = found.end()


def _node(source: SqlText, steps: Steps, path: str) -> tuple[Any, Any]:
    """Return the node that the last step of a path was read from, and the node within which its words are."""
    here: Any = steps
    found: tuple[Any, Any] = source.nodes.get(id(next(iter(steps[0].values()))), (None, None))
    for index, name in re.findall(r"\[(\d+)\]|\.(\w+)", path):
        if index:
            here = here.get("right") if isinstance(here, dict) else here
            here = here[int(index)] if isinstance(here, list) and int(index) < len(here) else {}
        elif isinstance(here, dict):
            here = here.get(name, here.get("streams", {}).get(name, here) if "streams" in here else here)
        found = source.nodes.get(id(here), found)
    return found


def _patterns(said: str, path: str) -> Iterator[str]:
    """Yield what may be the place of an error, the surest first."""
    for word in re.findall(r"['`]([^'`]+)['`]", said):
        yield rf"(?<!\w){re.escape(word)}(?!\w)"
    for name in re.findall(r"time column (\w+)", said):
        yield rf"(?<=DESCRIPTOR\(){re.escape(name)}\b"
    names = [name for name, _ in _ARGUMENT.findall(said)] + re.findall(r"\.(\w+): ", path)[-1:]
    names += re.findall(r"^(\w+) is ", said) + re.findall(r"\b([a-z]+_[a-z_]+)\b", said)
    for name in names:
        word = _CLAUSES.get(name, "").partition(" ")[0]
        yield rf"\b{word}\b" if word else rf"\b{name}\s*=>"
    for name, (module, _) in AGGREGATES.items():
        if re.search(rf"\b{re.escape(module)}\b", said):
            yield rf"\b{name}\s*\("
    for module in re.findall(r"\b\w+\.\w+\b", said):
        yield rf"\b{re.escape(module)}\b"
    for name in re.findall(r"\b(?:key|column|columns|in|got|where\(|rows\() ?(\w+)", said):
        yield rf"(?<!\w){re.escape(name)}(?!\w)"
