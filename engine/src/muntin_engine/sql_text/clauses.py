"""The clauses of queries and of streams: words, lengths and calls as the arguments that they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.places import SqlText, closest
from muntin_engine.sql_text.values import call_of, length_of, name_of, text_of, value_of

EMITS: Final = {"FINAL": "final", "SPECULATIVE": "speculative", "CHANGES": "eager", "EAGER": "eager"}
EMIT_WORDS: Final = {policy: word for word, policy in reversed(EMITS.items())}
"""The words after EMIT by the policies that they are; of several for one policy, the first."""

JOINS: Final = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
"""The joins of SQL, by the kind of a join."""

REFINEMENTS: Final = ("accumulate", "discard", "retract")

_OF_COLUMNS: Final = ("with_columns", "select")
STEPS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("shift", "extend", "shorten"), ("by",)),
    "set_duration": ("length",),
    "to_points": ("at",),
    "to_edges": (),
    "align_to": ("windows",),
    "shedding": (),
    "with_heartbeat": ("df",),
    "with_clock": ("clock",),
    "where": ("condition",),
    **dict.fromkeys(_OF_COLUMNS, ()),
}
"""The steps of a stream that stand after THEN, and their arguments by place."""

_ONE_WORD: Final = {"CLIP": "FULL", "TIMESTAMPS": "UNCHANGED", "EVALUATOR": "AUTO"}
"""Clauses of one word, each with such a word."""

_LATE: Final = ("side", "drop", "adjust", "correct")
_WATERMARKS: Final = "write WATERMARK leaves DELAY OF INTERVAL '10' MINUTES, or WATERMARK bounded_disorder(rows => 100)"


def read_clauses(clauses: Iterable[Any], source: SqlText, time: str = "") -> dict[str, Any]:
    """Return the arguments that clauses are, by name; the steps after THEN are `then`, and may be several.

    Args:
        clauses: The clauses after a query, or those of a stream.
        source: The text.
        time: The column of the times of a stream.

    Raises:
        SqlError: One is said twice, or is none.
    """
    found: dict[str, Any] = {}
    known: set[str] = set()
    for clause in clauses:
        if clause.name in known and clause.name != "THEN":
            raise source.error(clause, f"{clause.name} is said twice", "leave one of them out")
        known.add(clause.name)
        if clause.name == "WATERMARK":
            found["watermark"] = _watermark(clause, source, time)
        else:
            _READ[clause.name](found, clause, source)
    return found


def _words(clause: Any) -> list[str]:
    """Return the words of a clause in capitals, and nothing in the places of values."""
    return [part.name.upper() if isinstance(part, exp.Var) else "" for part in clause.expressions]


def _emit(data: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `EMIT FINAL | CHANGES | SPECULATIVE | EARLY trigger [refinement]`."""
    parts, words = list(clause.expressions), _words(clause)
    word = words[0] if words else ""
    if word in EMITS and len(parts) == 1:
        data["emit"] = EMITS[word]
        return
    if word != "EARLY":
        said = f"EMIT {text_of(parts[0]) if parts else ''} is no emission"
        raise source.error(parts[0] if parts else clause, said, closest(word, [*EMITS, "EARLY"]))
    early: dict[str, Any] = {"kind": "early"}
    if words[-1].lower() in REFINEMENTS:
        early["refinement"] = words.pop().lower()
        parts.pop()
    if words[:2] == ["EARLY", "EVERY"] and len(parts) == 3:
        early["trigger"] = {"kind": "every", "period": length_of(parts[2], source)}
    elif len(parts) == 2 and call_of(parts[1], source) is not None:
        early["trigger"] = value_of(parts[1], source)
    else:
        advice = "write EMIT EARLY EVERY INTERVAL '1' MINUTE, or a trigger such as after_count(100)"
        raise source.error(clause, "this is no trigger", advice)
    data["emit"] = early


def _word(data: dict[str, Any], clause: Any, source: SqlText) -> None:
    if len(clause.expressions) != 1:
        raise source.error(clause, f"{clause.name} takes one word", f"write {clause.name} {_ONE_WORD[clause.name]}")
    data[clause.name.lower()] = clause.expressions[0].name.lower()


def _forget(data: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `FORGET KEYS AFTER length`."""
    if _words(clause) != ["KEYS", "AFTER", ""]:
        raise source.error(clause, "this forgets nothing", "write FORGET KEYS AFTER INTERVAL '30' DAYS")
    data["forget_keys_after"] = length_of(clause.expressions[2], source)


def _watermark(clause: Any, source: SqlText, time: str) -> Any:
    """Return `[column] DELAY OF length`, `FOR at AS at - length` or `policy(...)`."""
    parts, words = clause.expressions, _words(clause)
    found: Any = None
    if words[-3:] == ["DELAY", "OF", ""] and len(parts) < 5:
        columns, found = parts[:-3], length_of(parts[-1], source)
    elif words[:3:2] == ["FOR", "AS"] and len(parts) == 4:
        columns, found = parts[1::2], {"kind": "ordered"}
    elif words[:3:2] == ["FOR", "AS"] and len(parts) == 5 and isinstance(parts[4], exp.Neg):
        columns, found = parts[1:4:2], length_of(parts[4].this, source)
    elif len(parts) == 1 and call_of(parts[0], source) is not None:
        columns, found = [], value_of(parts[0], source)
    else:
        raise source.error(clause, "this is no watermark", _WATERMARKS)
    for column in columns:
        if time and name_of(column).casefold() != time.casefold():
            said = f"the watermark is of {name_of(column)}, and the times of the stream are {time}"
            raise source.error(column, said, f"write WATERMARK {time} DELAY OF ...")
    return found


def _late(events: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `LATE SIDE | DROP | ADJUST | CORRECT WITHIN length`."""
    words = [word.lower() for word in _words(clause)]
    if words == ["correct", "within", ""]:
        events["late_policy"] = {"kind": "correct", "allowed": length_of(clause.expressions[2], source)}
    elif len(words) == 1 and words[0] in _LATE[:3]:
        events["late_policy"] = words[0]
    else:
        advice = closest(words[0], _LATE) if words and words[0] not in _LATE else ""
        said = "this says nothing of late rows"
        known = "write LATE SIDE, LATE DROP, LATE ADJUST or LATE CORRECT WITHIN INTERVAL '1' HOUR"
        raise source.error(clause, said, f"{advice}\n{known}")


def _then(events: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `THEN call(...)`: one of the calls of an event stream."""
    for part in clause.expressions:
        called = call_of(part, source)
        if called is None:
            raise source.error(part, f"{text_of(part)} is no call", "write THEN shift(INTERVAL '1' HOUR)")
        name, places, named = called
        if name not in STEPS or (len(places) > len(STEPS[name]) and name != "select"):
            advice = (
                closest(name, STEPS) if name not in STEPS else f"it takes {', '.join(STEPS[name]) or 'names alone'}"
            )
            raise source.error(part, f"{text_of(part)} is no step of a stream", advice)
        given = {"columns": named} if name in _OF_COLUMNS else named
        by_place = {"names": places} if name == "select" else dict(zip(STEPS[name], places, strict=False))
        events.setdefault("then", []).append({name: source.mark({**by_place, **given}, part)})


_READ: Final[Mapping[str, Callable[[dict[str, Any], Any, SqlText], None]]] = {
    "EMIT": _emit,
    **dict.fromkeys(("CLIP", "TIMESTAMPS", "EVALUATOR"), _word),
    "FORGET": _forget,
    "LATE": _late,
    "THEN": _then,
}
