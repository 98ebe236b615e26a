"""A join of two streams as a text of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muntin_engine.sql_text.clauses import JOINS, write_clauses
from muntin_engine.sql_text.join_columns import ALWAYS, columns_in
from muntin_engine.sql_text.join_reading import never_null
from muntin_engine.sql_text.result_expressions import over_streams, parse_expression, qualified, with_alias
from muntin_engine.sql_text.sql_values import spell_value
from muntin_engine.sql_text.stream_writing import WrittenStream, spell_column
from muntin_engine.sql_text.window_functions import may_overlap

_LEFT: Final = "l"
_RIGHT: Final = "r"
"""The names of the two streams."""


@dataclass(frozen=True)
class JoinedQuery:
    """A join.

    Attributes:
        left: The left stream.
        right: The right stream.
        arguments: The arguments of the call of `join`.
    """

    left: WrittenStream
    right: WrittenStream
    arguments: Mapping[str, Any]

    def text(self, conditions: Sequence[str], selected: Mapping[str, str] | None) -> str:
        """Return the text of the query.

        Args:
            conditions: The conditions on the results of the join.
            selected: The selected columns, expressions over the results by their names; None for all columns.

        Raises:
            ValueError: SQL cannot express a part of the query, which the message names.
        """
        join_words = JOINS.get(self.arguments.get("how", "inner"))
        if join_words is None:
            raise ValueError(f"a join with how={self.arguments['how']!r} is none of SQL's")
        on, right = self._on_and_right_stream()
        columns = self._columns()
        if selected is None:
            selected = {name: name for name in columns}
        self._refuse_unmentioned(columns, [*selected.values(), *conditions])

        # SELECT, FROM, JOIN and ON.
        window = self.arguments.get("same_window")
        items = [with_alias(over_streams(text, columns), name) for name, text in selected.items()]
        left_call = self.left.without_keys().function_call(window)
        right_call = right.without_keys().function_call(window)
        text = (
            f"SELECT {', '.join(items)}\n"
            f"FROM {left_call} AS {_LEFT}\n"
            f"{join_words} {right_call} AS {_RIGHT}\n"
            f"ON {' AND '.join(on)}"
        )

        # WHERE and EMIT.
        if conditions:
            written = [over_streams(condition, columns) for condition in conditions]
            if len(written) > 1:
                written = [f"({condition})" for condition in written]
            text += f"\nWHERE {' AND '.join(written)}"
        emission = {"emit": self.arguments["emit"]} if "emit" in self.arguments else {}
        return text + write_clauses(emission)

    def _on_and_right_stream(self) -> tuple[list[str], WrittenStream]:
        """Return the conditions of ON, and the right stream as it is written with them.

        If the last step of the right stream leaves out keys that are null, the stream is written without this step:
        `=` in ON means the same.

        Raises:
            ValueError: There is no condition.
        """
        # A condition on the left stream alone is one of the left keys: it meets the right key that is always true.
        pairs = list(zip(self.left.keys, self.right.keys, strict=True))
        equal_columns = [(left, right) for left, right in pairs if right != ALWAYS]
        conditions_on_left = [left for left, right in pairs if right == ALWAYS]

        # Null is a key like any other in streams, so keys are equal as by `<=>`. Where a filter leaves out null keys,
        # they are equal as by `=`, and the filter need not be written.
        equals = "<=>"
        right_stream = self.right
        not_null = never_null(spell_column(key) for _, key in equal_columns)
        if equal_columns and right_stream.steps[-1:] == [{"where": {"condition": not_null}}]:
            equals = "="
            right_stream = right_stream.without_last_step()

        on = [f"{qualified(left, _LEFT)} {equals} {qualified(right, _RIGHT)}" for left, right in equal_columns]
        on += [qualified(condition, _LEFT) for condition in conditions_on_left]
        on += self._equal_windows()
        on += self._function_call()
        if not on:
            raise ValueError("a join without keys has no condition")
        return on, right_stream

    def _equal_windows(self) -> list[str]:
        """Return the conditions of ON by which events meet in a shared window; none without shared windows.

        Raises:
            ValueError: The windows overlap.
        """
        window = self.arguments.get("same_window")
        if window is None:
            return []
        if may_overlap(window):
            raise ValueError("a join with same_window= of windows that overlap")
        return [f"{_LEFT}.{end} = {_RIGHT}.{end}" for end in ("window_start", "window_end")]

    def _function_call(self) -> list[str]:
        """Return the condition of ON that is the call of a function; none without such a function."""
        call = self.arguments.get("on")
        if not call:
            return []
        words = [qualified(column, _LEFT) for column in call["left"]]
        words += [qualified(column, _RIGHT) for column in call["right"]]
        words += [f"{name} => {spell_value(value)}" for name, value in call.get("parameters", {}).items()]
        return [f"{call['function']}({', '.join(words)})"]

    def _columns(self) -> dict[str, str]:
        """Return the columns of the results by their names, each as an expression over the two streams."""
        columns = {key: qualified(key, _LEFT) for key in self.left.keys}
        columns["lifetime"] = "lifetime"
        for parameter, alias in (("left_columns", _LEFT), ("right_columns", _RIGHT)):
            for name, text in _columns_by_name(self.arguments.get(parameter, ())).items():
                columns[name] = qualified(text, alias)
        return columns

    def _refuse_unmentioned(self, columns: Mapping[str, str], texts: Sequence[str]) -> None:
        """Raise unless the text of the query mentions all columns of the results: nobody could read others from it.

        Args:
            columns: The columns of the results by their names.
            texts: The selected expressions and the conditions on the results.

        Raises:
            ValueError: A column is not mentioned.
        """
        mentioned_names = {*self.left.keys, "lifetime"}  # every join has these columns, mentioned or not
        for text in texts:
            mentioned_names.add(text)  # it may be just a name, also one that does not parse as one, such as `my col`
            mentioned_names.update(column.name for column in columns_in(parse_expression(text)))
        for name in columns:
            if name not in mentioned_names:
                raise ValueError(f"the column {name} is asked for and not selected")


def _columns_by_name(columns: str | Sequence[str] | Mapping[str, str]) -> Mapping[str, str]:
    """Return the columns that an argument names, by their names in the results.

    Args:
        columns: A name, several names, or a mapping from names in the results to expressions.
    """
    if isinstance(columns, Mapping):
        return columns
    names = [columns] if isinstance(columns, str) else columns
    return {name: name for name in names}
