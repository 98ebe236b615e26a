"""Translates an expression node by node, by the rules that are registered for their kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa
from sqlglot import exp

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted, spelled, text_literal
from muntin_engine.backends.local.expressions.duckdb_expression import FAILURE, DuckdbExpression
from muntin_engine.backends.planning.needs_spark import NeedsSparkError

_REFUSAL: Final = "{value!r}{within} {fact}\n  {advice}"
"""The message about a part of an expression."""

ON_SPARK: Final = "compute the column before events(), or run the query on Spark"
"""What to do about an expression that has no translation."""

Node = TypeVar("Node", bound=exp.Expr)
Rule: TypeAlias = "Callable[[Translator, Any], DuckdbExpression]"

_RULES: dict[type[exp.Expr], Rule] = {}
"""The rules by the kinds of nodes that they translate, as `rule` registers them."""

_FUNCTIONS: dict[str, Rule] = {}
"""The rules of calls by the names of the functions, as `function_rule` registers them."""


def rule(
    *kinds: type[Node],
) -> Callable[[Callable[[Translator, Node], DuckdbExpression]], Callable[[Translator, Node], DuckdbExpression]]:
    """Return a decorator that registers a function as the rule by which nodes of some kinds are translated.

    Args:
        kinds: The classes of sqlglot's nodes.
    """

    def register(function: Callable[[Translator, Node], DuckdbExpression]) -> Any:
        for kind in kinds:
            _RULES[kind] = function
        return function

    return register


def function_rule(
    *names: str, arguments: Collection[int] = (1,)
) -> Callable[
    [Callable[[Translator, exp.Anonymous], DuckdbExpression]], Callable[[Translator, exp.Anonymous], DuckdbExpression]
]:
    """Return a decorator that registers a function as the rule of calls that sqlglot has no kind of node for.

    Args:
        names: The names of the called functions, in small letters.
        arguments: The numbers of arguments that a call may have. Calls with another number do not reach the rule.
    """

    def register(function: Callable[[Translator, exp.Anonymous], DuckdbExpression]) -> Any:
        """Register a function under all names, behind a check of the number of arguments, and return it."""

        def translate_call(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
            """Translate a call by the rule; refuse one with another number of arguments."""
            number = len(node.expressions)
            if number not in arguments:
                expected = " or ".join(map(str, arguments))
                raise translator.mistake(node, "has a wrong number of arguments", f"expected: {expected}; got {number}")
            return function(translator, node)

        for name in names:
            _FUNCTIONS[name] = translate_call
        return function

    return register


def function_rule_of(name: str) -> Rule | None:
    """Return the rule of calls of a function that sqlglot has no kind of node for; None if the function has no rule."""
    return _FUNCTIONS.get(name)


class UnknownColumnError(Exception):
    """A scope has no column of a name, or several.

    Attributes:
        fact: What is wrong, after the name.
        advice: What to write.
        is_missing: True if there is no such column.
    """

    def __init__(self, fact: str, advice: str, *, is_missing: bool = False) -> None:
        """Make an error; see the class for the arguments."""
        super().__init__(fact)
        self.fact = fact
        self.advice = advice
        self.is_missing = is_missing


class Scope(ABC):
    """The columns that an expression may read."""

    @abstractmethod
    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return the column that a path begins with, and the rest of the path: names of fields of its structs.

        Args:
            path: The names between the dots of a column as it is written.

        Raises:
            UnknownColumnError: There is no such column, or there are several.
        """

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return the value of a node that the rows have computed already, such as an aggregate; None for others."""
        del node
        return None


class SchemaScope(Scope):
    """The columns of one table."""

    def __init__(self, columns: pa.Schema) -> None:
        self._columns = columns

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return a column by its name in any case."""
        name = path[0]
        namesakes = [field for field in self._columns if field.name.casefold() == name.casefold()]
        if len(namesakes) > 1:
            names = ", ".join(field.name for field in namesakes)
            raise UnknownColumnError(f"may be any of {names}", "rename all but one of them before events()")
        if not namesakes:
            names = ", ".join(self._columns.names)
            raise UnknownColumnError("is not a column of the input", f"it has {names}", is_missing=True)
        return DuckdbExpression(quoted(namesakes[0].name), namesakes[0].type), path[1:]


_KNOWN_PARTS: Final = frozenset({"this", "safe"})
"""The parts that a rule may leave unread: what every node has, and what sqlglot notes of a dialect as a whole."""


class _ReadParts(dict[str, Any]):
    """The parts of a node, of which a rule has to read each that says something."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        """Return a part."""
        self._read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a part, or a default."""
        self._read.add(name)
        return super().get(name, default)

    def unread(self) -> list[str]:
        """Return the names of parts that are not empty and that the rule of the node has not read."""
        known_names = self._read | _KNOWN_PARTS
        return [name for name, part in self.items() if part and name not in known_names]


class Translator:
    """Translates one expression.

    Attributes:
        text: The expression.
    """

    def __init__(self, text: str, scope: Scope, *, is_lenient: bool = False) -> None:
        """Begin a translation.

        Args:
            text: The expression.
            scope: The columns that it may read.
            is_lenient: True if the translation is null for a row that it fails on, in place of an error.
        """
        self.text = text
        self._scope = scope
        self._is_lenient = is_lenient

    def leniently(self) -> Translator:
        """Return a translator of the same expression whose translations are null for rows that they fail on."""
        return Translator(self.text, self._scope, is_lenient=True)

    def translate(self, node: exp.Expr) -> DuckdbExpression:
        """Translate a node, by the rule of its kind.

        Raises:
            QueryError: The node, or a part of it, has no translation of the same meaning.
        """
        # The keys and aggregates of a grouped SELECT are columns by now, and are not computed again.
        computed = self._scope.computed(node)
        if computed is not None:
            return computed
        node_rule = _RULES.get(type(node))
        if node_rule is None:
            raise self.unknown(node, node.key)
        parts = _ReadParts(node.args)  # notes which parts the rule reads
        node.args = parts  # only this translation holds the tree, so the tree may be changed
        value = node_rule(self, node)
        # A part that the rule has not read may change the meaning. Newer versions of sqlglot add parts: the NOT of
        # `s NOT LIKE 'a%'`, for example, was a node of its own once, and is now a part of the node of LIKE.
        for part in parts.unread():
            raise self.refusal(node, f"has a part {part!r}, which has no translation", ON_SPARK)
        return value

    def column(self, node: exp.Expr, path: Sequence[str]) -> DuckdbExpression:
        """Return a column, or a field within its structs, by its path.

        Args:
            node: The node of the path, for errors.
            path: The names between the dots.

        Raises:
            QueryError: There is no such column or field, or there are several such columns.
        """
        try:
            value, fields = self._scope.column(path)
        except UnknownColumnError as error:
            raise self.mistake(node, error.fact, error.advice) from error
        for name in fields:
            value = self.field(node, value, name)
        return value

    def field(self, node: exp.Expr, value: DuckdbExpression, name: str) -> DuckdbExpression:
        """Return a field of a struct, by its name in any case.

        Args:
            node: The node that reads the field, for errors.
            value: The struct.
            name: The name of the field.

        Raises:
            QueryError: The value is no struct, or has no such field.
        """
        if not pa.types.is_struct(value.type):
            raise self.refusal(
                node, f"reads {name!r} of {spelled(value.type)}", "name a column, or a field of a struct"
            )
        fields = [value.type.field(place) for place in range(value.type.num_fields)]
        for field in fields:
            if field.name.casefold() == name.casefold():
                return DuckdbExpression(f"({value.sql}).{quoted(field.name)}", field.type, may_raise=value.may_raise)
        raise self.mistake(node, f"has no field {name!r}", f"it has {', '.join(field.name for field in fields)}")

    # ------------------------------------------------------------------------------------------------ what is refused

    def refusal(self, node: exp.Expr, fact: str, advice: str) -> NeedsSparkError:
        """Return the error about a node that Spark may compute, and that has no translation here.

        Args:
            node: The node.
            fact: The words about the node that follow its text in the message.
            advice: The words on what to write instead.
        """
        part = spark_text(node)
        used = f"the expression {part!r}"
        return NeedsSparkError(used, _REFUSAL, value=part, within=self._within(part), fact=fact, advice=advice)

    def unknown(self, node: exp.Expr, name: str) -> NeedsSparkError:
        """Return the error about a node of a kind, or a call of a function, that has no rule."""
        return self.refusal(node, f"needs {name!r}, which is not known to mean the same without Spark", ON_SPARK)

    def mistake(self, node: exp.Expr, fact: str, advice: str) -> QueryError:
        """Return the error about a node that Spark would refuse too, such as a column that does not exist.

        Args:
            node: The node.
            fact: The words about the node that follow its text in the message.
            advice: The words on what to write instead.
        """
        part = spark_text(node)
        return QueryError(_REFUSAL, value=part, within=self._within(part), fact=fact, advice=advice)

    def _within(self, part: str) -> str:
        """Return the words that name the whole expression behind a part of it; empty if the part is all of it."""
        return "" if part == self.text else f", in {self.text!r}"

    def operand(
        self, node: exp.Expr, operand: exp.Expr, is_accepted: Callable[[pa.DataType], bool]
    ) -> DuckdbExpression:
        """Translate an operand that has to be of a certain type.

        Args:
            node: The node whose operand it is, for errors.
            operand: The operand.
            is_accepted: Returns True for the types that the operand may have.

        Raises:
            QueryError: The operand is of another type.
        """
        value = self.translate(operand)
        if not is_accepted(value.type):
            raise self.type_refusal(node, value)
        return value

    def type_refusal(self, node: exp.Expr, *operands: DuckdbExpression) -> NeedsSparkError:
        """Return the error about a node with operands of types that it does not take."""
        types = " and ".join(spelled(operand.type) for operand in operands)
        return self.refusal(
            node, f"takes {types}, and is not known to mean the same without Spark", "cast its parts to one type"
        )

    def failure(self, node: exp.Expr, fact: str) -> str:
        """Return an expression in SQL that raises an error for a row, or is null if the translation is lenient.

        The message ends with the character `FAILURE` and the text of the node: `FailedRowError` cuts it there.

        Args:
            node: The node that cannot be computed for the row.
            fact: The message, as an expression in SQL.
        """
        if self._is_lenient:
            return "NULL"
        return f"error({fact} || {text_literal(FAILURE + spark_text(node))})"


def spark_text(node: exp.Expr) -> str:
    """Return a node as Spark's SQL writes it, for messages."""

    def plainly(part: exp.Expr) -> exp.Expr:
        """Return a plain cast, which sqlglot holds as a `TryCast`, as a `Cast`; other nodes as they are."""
        is_plain_cast = isinstance(part, exp.TryCast) and not part.args.get("safe")
        return exp.Cast(this=part.this, to=part.args["to"]) if is_plain_cast else part

    return node.copy().transform(plainly).sql(dialect="spark")
