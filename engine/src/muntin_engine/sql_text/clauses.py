"""The clauses of queries and of streams, each read from SQL as the argument that it is, and written back.

`LATE CORRECT WITHIN INTERVAL '1' HOUR` is the policy `{"kind": "correct", "allowed": "1 hour"}`: `LateClause`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.sql_source import SqlText, did_you_mean
from muntin_engine.sql_text.sql_values import (
    length_of,
    name_of,
    read_call,
    spell_length,
    spell_value,
    text_of,
    value_of,
)
from muntin_engine.sql_text.then_steps import read_then_steps

EMITS: Final = {"FINAL": "final", "SPECULATIVE": "speculative", "CHANGES": "eager", "EAGER": "eager"}
"""The emission policies by the words after EMIT."""

EMIT_WORDS: Final = {policy: word for word, policy in reversed(EMITS.items())}
"""The words after EMIT by the policies. A policy with two words has the first one: in reversed order that is the last
one, which replaces the other."""

JOINS: Final = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
"""The joins of SQL, by the kind of a join."""

REFINEMENTS: Final = ("accumulate", "discard", "retract")


class PolicyClause(ABC):
    """A clause that is one argument of a call.

    Attributes:
        word: The first word of the clause.
        parameter: The name of the argument.
    """

    word: str
    parameter: str

    @abstractmethod
    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Return the argument that a clause stands for, as plain data.

        Args:
            clause: The node of the clause.
            source: The text.
            time: The column of the times of the stream that the clause is of; empty for a clause of a query.

        Raises:
            SqlError: The words after the first one are not those of such a clause.
        """

    @abstractmethod
    def write(self, value: Any) -> str:
        """Return the text of the clause that stands for an argument, given as plain data.

        Raises:
            ValueError: There is no clause for the argument.
        """


class EmitClause(PolicyClause):
    """`EMIT FINAL | CHANGES | SPECULATIVE | EARLY trigger [refinement]`."""

    word = "EMIT"
    parameter = "emit"

    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Read a policy, or early emission with its trigger."""
        parts = list(clause.expressions)
        words = _words(clause)  # a text for each part, empty for a part that is no word
        word = words[0] if words else ""
        if word in EMITS and len(parts) == 1:
            return EMITS[word]
        if word != "EARLY":
            fact = f"EMIT {text_of(parts[0]) if parts else ''} is no emission"
            raise source.error(parts[0] if parts else clause, fact, did_you_mean(word, [*EMITS, "EARLY"]))

        # EARLY, then a period or the call of a trigger, then perhaps a refinement.
        early: dict[str, Any] = {"kind": "early"}
        if words[-1].lower() in REFINEMENTS:
            early["refinement"] = words.pop().lower()
            parts.pop()
        if words[:2] == ["EARLY", "EVERY"] and len(parts) == 3:  # EARLY EVERY length
            early["trigger"] = {"kind": "every", "period": length_of(parts[2], source)}
        elif len(parts) == 2 and read_call(parts[1], source) is not None:  # EARLY trigger(...)
            early["trigger"] = value_of(parts[1], source)
        else:
            advice = "write EMIT EARLY EVERY INTERVAL '1' MINUTE, or a trigger such as after_count(100)"
            raise source.error(clause, "this is no trigger", advice)
        return early

    def write(self, value: Any) -> str:
        """Write a policy, or early emission with its trigger."""
        if not isinstance(value, Mapping):
            return f"EMIT {EMIT_WORDS[value]}"
        trigger = value["trigger"]
        refinement = value.get("refinement", "")
        if not isinstance(refinement, str) or (refinement and refinement not in REFINEMENTS):
            raise ValueError("a refinement of your own")
        is_period = trigger["kind"] == "every" and set(trigger) == {"kind", "period"}
        written_trigger = f"EVERY {spell_length(trigger['period'])}" if is_period else spell_value(trigger)
        words = ["EMIT EARLY", written_trigger]
        if refinement:
            words.append(refinement.upper())
        return " ".join(words)


class OneWordClause(PolicyClause):
    """A clause of one word, such as `CLIP FULL`."""

    def __init__(self, word: str, example: str) -> None:
        """Name a clause.

        Args:
            word: The first word, which is the name of the argument in capitals.
            example: A word that may follow.
        """
        self.word = word
        self.parameter = word.lower()
        self._example = example

    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Read the word in small letters."""
        if len(clause.expressions) != 1:
            raise source.error(clause, f"{self.word} takes one word", f"write {self.word} {self._example}")
        return clause.expressions[0].name.lower()

    def write(self, value: Any) -> str:
        """Write the word in capitals."""
        return f"{self.word} {value.upper()}"


class ForgetClause(PolicyClause):
    """`FORGET KEYS AFTER length`."""

    word = "FORGET"
    parameter = "forget_keys_after"

    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Read the length."""
        if _words(clause) != ["KEYS", "AFTER", ""]:  # the length is no word, so it has an empty text there
            raise source.error(clause, "this forgets nothing", "write FORGET KEYS AFTER INTERVAL '30' DAYS")
        return length_of(clause.expressions[2], source)

    def write(self, value: Any) -> str:
        """Write the length."""
        return f"FORGET KEYS AFTER {spell_length(value)}"


class WatermarkClause(PolicyClause):
    """`WATERMARK [column] DELAY OF length`, `WATERMARK FOR at AS at - length` or `WATERMARK policy(...)`."""

    word = "WATERMARK"
    parameter = "watermark"

    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Read a delay, or a call of a progress policy."""
        # A part is a word, a column or a length. `words` has a text for each part, which is empty if it is no word.
        parts = clause.expressions
        words = _words(clause)
        is_for_column = len(parts) >= 4 and words[0] == "FOR" and words[2] == "AS"
        policy: Any
        if words[-3:] == ["DELAY", "OF", ""] and len(parts) < 5:
            # DELAY OF length, or at DELAY OF length
            columns = parts[:-3]
            policy = length_of(parts[-1], source)
        elif is_for_column and len(parts) == 4:
            # FOR at AS at
            columns = [parts[1], parts[3]]
            policy = {"kind": "ordered"}
        elif is_for_column and len(parts) == 5 and isinstance(parts[4], exp.Neg):
            # FOR at AS at - length: the last part is the negative length
            columns = [parts[1], parts[3]]
            policy = length_of(parts[4].this, source)
        elif len(parts) == 1 and read_call(parts[0], source) is not None:
            # policy(...)
            columns = []
            policy = value_of(parts[0], source)
        else:
            advice = "write WATERMARK leaves DELAY OF INTERVAL '10' MINUTES, or WATERMARK bounded_disorder(rows => 100)"
            raise source.error(clause, "this is no watermark", advice)

        # The clause may name the column of times, which has to be that of the stream. `time` is empty for streams
        # without a DESCRIPTOR, such as a union.
        for column in columns:
            if time and name_of(column).casefold() != time.casefold():
                fact = f"the watermark is of {name_of(column)}, and the times of the stream are {time}"
                raise source.error(column, fact, f"write WATERMARK {time} DELAY OF ...")
        return policy

    def write(self, value: Any) -> str:
        """Write a delay, or a call of a progress policy."""
        if isinstance(value, Mapping):
            return f"WATERMARK {spell_value(value)}"
        return f"WATERMARK DELAY OF {spell_length(value)}"


class LateClause(PolicyClause):
    """`LATE SIDE | DROP | ADJUST | CORRECT WITHIN length`."""

    word = "LATE"
    parameter = "late_policy"
    _POLICIES: Final = ("side", "drop", "adjust")

    def read(self, clause: Any, source: SqlText, time: str) -> Any:
        """Read a policy, or corrections with the lateness that they allow."""
        words = [word.lower() for word in _words(clause)]
        if words == ["correct", "within", ""]:
            return {"kind": "correct", "allowed": length_of(clause.expressions[2], source)}
        if len(words) == 1 and words[0] in self._POLICIES:
            return words[0]
        first_words = (*self._POLICIES, "correct")
        suggestion = did_you_mean(words[0], first_words) if words and words[0] not in first_words else ""
        example = "write LATE SIDE, LATE DROP, LATE ADJUST or LATE CORRECT WITHIN INTERVAL '1' HOUR"
        raise source.error(clause, "this says nothing of late rows", f"{suggestion}\n{example}")

    def write(self, value: Any) -> str:
        """Write a policy, or corrections with the lateness that they allow."""
        if isinstance(value, Mapping):
            return f"LATE CORRECT WITHIN {spell_length(value['allowed'])}"
        return f"LATE {value.upper()}"


WATERMARK: Final = WatermarkClause()
LATE: Final = LateClause()

_CLAUSES_OF_QUERIES: Final[Mapping[str, PolicyClause]] = {
    clause.parameter: clause
    for clause in (
        EmitClause(),
        OneWordClause("CLIP", "FULL"),
        OneWordClause("TIMESTAMPS", "UNCHANGED"),
        OneWordClause("EVALUATOR", "AUTO"),
        ForgetClause(),
    )
}
"""The clauses after a query, by the parameters of `window` whose arguments they are."""

_BY_WORD: Final[Mapping[str, PolicyClause]] = {
    clause.word: clause for clause in (*_CLAUSES_OF_QUERIES.values(), WATERMARK, LATE)
}


def read_clauses(clauses: Iterable[Any], source: SqlText, time: str = "") -> dict[str, Any]:
    """Return the arguments that clauses stand for, by the names of parameters.

    The calls after THEN are steps of the stream rather than arguments. All of them are in a list under the name `then`.

    Args:
        clauses: The clauses after a query, or those of a stream.
        source: The text.
        time: The column of the times of the stream; empty for clauses after a query.

    Raises:
        SqlError: A clause occurs twice, or its words are not those of such a clause.
    """
    arguments: dict[str, Any] = {}
    words: set[str] = set()
    for clause in clauses:
        if clause.name == "THEN":
            arguments.setdefault("then", []).extend(read_then_steps(clause, source))
            continue
        if clause.name in words:
            raise source.error(clause, f"{clause.name} is said twice", "leave one of them out")
        words.add(clause.name)
        policy_clause = _BY_WORD[clause.name]
        arguments[policy_clause.parameter] = policy_clause.read(clause, source, time)
    return arguments


def write_clauses(arguments: Mapping[str, Any]) -> str:
    """Return the text of the clauses after a query, each on a line of its own.

    Args:
        arguments: The arguments of `window` that are clauses, by name, as plain data.

    Raises:
        ValueError: There is no clause for an argument.
    """
    lines: list[str] = []
    for name, value in arguments.items():
        if name not in _CLAUSES_OF_QUERIES:
            raise ValueError(f"{name}= of windows has no clause")
        lines.append(f"\n{_CLAUSES_OF_QUERIES[name].write(value)}")
    return "".join(lines)


def _words(clause: Any) -> list[str]:
    """Return a text for each part of a clause after its first word: the word in capitals, or empty for a value."""
    return [part.name.upper() if isinstance(part, exp.Var) else "" for part in clause.expressions]
