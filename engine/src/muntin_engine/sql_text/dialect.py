"""Spark's SQL with streams: `TABLE` arguments, clauses of streams and of queries, and patterns of rows.

sqlglot parses Spark's dialect; what is added here becomes nodes of its own. Parsed nodes keep the text that they were
read from, so that what goes to Spark is not rewritten.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]  # it is where its pages name it

from muntin_engine.backends.local.expressions.spark_between import parse_between
from muntin_engine.sql_text.sql_aggregates import AGGREGATES
from muntin_engine.sql_text.sql_source import SqlError
from muntin_engine.sql_text.window_functions import FUNCTIONS

QUERY_CLAUSES: Final = ("EMIT", "CLIP", "TIMESTAMPS", "FORGET", "EVALUATOR")
"""The first words of clauses that follow a query."""

STREAM_CLAUSES: Final = ("WATERMARK", "LATE", "THEN")
"""The first words of clauses that follow the table of a stream."""

_CALLED_BY_NAME: Final = frozenset({*AGGREGATES, *FUNCTIONS})
"""The functions that stay calls by name: sqlglot would make a node of its own kind of some of them."""

_STARTS_VALUE: Final = {TokenType.STRING, TokenType.NUMBER, TokenType.INTERVAL, TokenType.DASH, TokenType.IDENTIFIER}
_ENDS_CLAUSE: Final = {
    *(TokenType.R_PAREN, TokenType.COMMA, TokenType.SEMICOLON, TokenType.PARTITION_BY, TokenType.ORDER_BY),
    *(TokenType.UNION, TokenType.JOIN, TokenType.ON),
}


class Clause(exp.Expression):
    """A clause of a stream or of a query: its first word, and the words, lengths and calls that follow."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


class StreamTable(exp.Expression):
    """The argument `TABLE ...` of a window function: a table or a query, its keys, its order and its clauses."""

    arg_types: ClassVar[dict[str, bool]] = dict.fromkeys(("keys", "order", "clauses"), False) | {"this": True}


class Matching(exp.Expression):
    """`MATCH_RECOGNIZE (...)`."""

    arg_types: ClassVar[dict[str, bool]] = dict.fromkeys(
        ("partition_by", "order", "measures", "rows", "after", "pattern", "within", "define", "alias"), False
    )


def _placed(parse_modifier: Any) -> Any:
    """Wrap sqlglot's function that parses a modifier such as `LIMIT 3`, so that the node keeps its place in the text.

    Args:
        parse_modifier: Parses a modifier with a parser, and returns the name of the modifier and its node.
    """

    def parse(parser: Any) -> tuple[str, Any]:
        """Parse the modifier, and note its text and its place in its node."""
        first = parser._curr
        name, node = parse_modifier(parser)
        return name, parser._with_text(node, first)

    return parse


class StreamingSpark(Spark):
    """Spark's dialect with streams."""

    class Tokenizer(Spark.Tokenizer):
        """Knows the word that begins a pattern of rows."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.KEYWORDS,
            "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
        }

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]  # sqlglot makes it when asked
        """Reads streams."""

        FUNC_TOKENS: ClassVar[set[TokenType]] = {*Spark.Parser.FUNC_TOKENS, TokenType.SESSION}
        RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {**Spark.Parser.RANGE_PARSERS, TokenType.BETWEEN: parse_between}
        QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
            token: _placed(parse) for token, parse in Spark.Parser.QUERY_MODIFIER_PARSERS.items()
        }

        def raise_error(self, message: str, token: Any = None) -> None:
            """Raise sqlglot's error with a further attribute `start`, the position at which its word begins."""
            word = token or self._curr or self._prev
            try:
                super().raise_error(message, word)
            except ParseError as error:
                # The error itself has the position of the end of the word.
                error.start = word.start if word else 0  # type: ignore[attr-defined]
                raise

        def _with_text(self, node: Any, first: Any) -> Any:
            """Note in a node its text and its place: from a first token up to the last token that was read.

            Args:
                node: What a method of the parser returned: a node, or None if it read nothing.
                first: The first token of the node.

            Returns:
                The node. One that has a text already keeps it: that of its innermost method.
            """
            if isinstance(node, exp.Expression) and first and self._prev and self._prev.end >= first.start:
                node.meta.setdefault("from", first.start)
                node.meta.setdefault("text", self._find_sql(first, self._prev))
            return node

        def _parse_disjunction(self) -> Any:
            first = self._curr
            return self._with_text(super()._parse_disjunction(), first)

        # Operands of AND, of comparisons and of sums keep their text too: their nodes lack words such as NOT, IS NULL
        # and the unit of an interval, so a span over the nodes would leave these out.

        def _parse_equality(self, *arguments: Any, **options: Any) -> Any:
            first = self._curr
            return self._with_text(super()._parse_equality(*arguments, **options), first)

        def _parse_bitwise(self) -> Any:
            first = self._curr
            return self._with_text(super()._parse_bitwise(), first)

        def _parse_unary(self) -> Any:
            first = self._curr
            return self._with_text(super()._parse_unary(), first)

        def _parse_select(self, *arguments: Any, **options: Any) -> Any:
            first = self._curr
            return self._with_text(super()._parse_select(*arguments, **options), first)

        def _parse_lambda(self, alias: bool = False) -> Any:
            """Read an argument of a function: also `TABLE ...`, one by name, or a call of the trigger `when`.

            sqlglot calls this for each argument, whether it is a lambda or not.
            """
            first = self._curr
            if first.token_type == TokenType.TABLE:
                return self._with_text(self._parse_stream_table(), first)
            # An argument by name, such as `size => INTERVAL '1' HOUR`.
            if self._next.token_type == TokenType.FARROW:
                name = exp.to_identifier(first.text).update_positions(first)
                self._advance(2)
                return self._with_text(self.expression(exp.Kwarg(this=name, expression=self._parse_lambda())), first)
            # The trigger `when(...)`: elsewhere WHEN is a word of CASE.
            if first.text.upper() == "WHEN" and self._next.token_type == TokenType.L_PAREN:
                return self._with_text(self._parse_function(anonymous=True, any_token=True), first)
            return self._with_text(super()._parse_lambda(alias), first)

        def _parse_function_call(
            self, functions: Any = None, anonymous: bool = False, optional_parens: bool = True, any_token: bool = False
        ) -> Any:
            """Read the call of a function; aggregates and window functions of ours stay calls by their names."""
            first = self._curr
            is_called_by_name = first is not None and first.text.upper() in _CALLED_BY_NAME
            node = super()._parse_function_call(functions, anonymous or is_called_by_name, optional_parens, any_token)
            return self._with_text(node, first)

        def _parse_table_alias(self, alias_tokens: Any = None) -> Any:
            """Read the alias of a table. The first word of a clause of streams, such as EMIT, is none unless quoted."""
            is_clause = self._curr.text.upper() in QUERY_CLAUSES and self._curr.token_type != TokenType.IDENTIFIER
            return None if is_clause else super()._parse_table_alias(alias_tokens)

        def _parse_query_modifiers(self, this: Any) -> Any:
            """Read what follows a query: clauses of Spark such as LIMIT, then clauses of streams such as EMIT."""
            this = super()._parse_query_modifiers(this)
            # sqlglot's node has no argument for clauses of streams, so they are kept beside its arguments.
            while isinstance(this, self.MODIFIABLES) and self._curr and self._curr.text.upper() in QUERY_CLAUSES:
                this.meta.setdefault("clauses", []).append(self._parse_clause())
            return this

        def _parse_stream_table(self) -> Any:
            """Read `TABLE rides PARTITION BY ... ORDER BY ...` and the clauses after it, in any order."""
            self._match(TokenType.TABLE)
            first = self._curr
            if self._match(TokenType.L_PAREN):
                this = self._parse_select()
                self._match_r_paren()
            else:
                this = self._with_text(self._parse_table_parts(), first)
            stream = self.expression(StreamTable(this=this))
            while self._curr:
                if not stream.args.get("keys") and self._match(TokenType.PARTITION_BY):
                    stream.set("keys", _partition_keys(self._parse_disjunction()))
                elif not stream.args.get("order") and self._match(TokenType.ORDER_BY):
                    stream.set("order", self._parse_disjunction())
                elif self._curr.text.upper() in STREAM_CLAUSES:
                    stream.append("clauses", self._parse_clause())
                else:
                    break
            return stream

        def _parse_clause(self) -> Any:
            """Read a clause: its first word, and all parts up to the next clause or the end of the stream or query."""
            first = self._curr
            self._advance()
            clause = self.expression(Clause(this=first.text.upper()))
            words = (*QUERY_CLAUSES, *STREAM_CLAUSES)
            while self._curr and self._curr.token_type not in _ENDS_CLAUSE:
                # The first word of the next clause; in quotes it would be the name of a column.
                if self._curr.text.upper() in words and self._curr.token_type != TokenType.IDENTIFIER:
                    break
                clause.append("expressions", self._parse_part())
            return self._with_text(clause, first)

        def _parse_part(self) -> Any:
            """Read a part of a clause: a word, a call, or a value.

            Raises:
                ParseError: There is no such part.
            """
            first = self._curr
            start = self._index

            # A plain word, such as DELAY; or a column, which looks like a word.
            is_path_or_call = self._next.token_type in (TokenType.L_PAREN, TokenType.DOT)
            if first.token_type not in _STARTS_VALUE and not is_path_or_call:
                self._advance()
                return self._with_text(exp.var(first.text), first)

            # A call, or a value.
            is_call = self._next.token_type == TokenType.L_PAREN
            part = self._parse_function(anonymous=True, any_token=True) if is_call else self._parse_unary()
            has_read_nothing = part is None or self._index == start
            if has_read_nothing:  # an error, or `_parse_clause` would never end
                self.raise_error("expected a length, a word or a call", first)
            return self._with_text(part, first)

        def _parse_match_recognize(self) -> Any:
            """Read MATCH_RECOGNIZE, if that is the next word; clauses that are no expressions are kept as their words.

            Returns:
                None if the next word is another one.
            """
            if not self._match(TokenType.MATCH_RECOGNIZE):
                return None
            first = self._prev
            self._match_l_paren()
            clauses: dict[str, Any] = {"partition_by": self._parse_partition_by(), "order": self._parse_order()}
            if self._match_text_seq("MEASURES"):
                clauses["measures"] = self._parse_csv(self._parse_expression)
            clauses["rows"] = self._words_until("AFTER", "PATTERN")
            clauses["after"] = self._words_until("PATTERN")
            if self._match_text_seq("PATTERN"):
                self._match_l_paren()
                clauses["pattern"] = self._words_until(")")
                self._match_r_paren()
            if self._match_text_seq("WITHIN"):
                clauses["within"] = self._parse_unary()
            if self._match_text_seq("DEFINE"):
                clauses["define"] = self._parse_csv(self._parse_name_as_expression)
            self._match_r_paren()
            return self._with_text(self.expression(Matching(**clauses, alias=self._parse_table_alias())), first)

        def _words_until(self, *ends: str) -> Any:
            """Read all words up to one of the words in `ends`, and return them as one node; None if there are none."""
            first = self._curr
            words: list[str] = []
            while self._curr and self._curr.text.upper() not in ends:
                words.append(self._curr.text)
                self._advance()
            return self._with_text(exp.var(" ".join(words)), first) if words else None


def _partition_keys(node: Any) -> list[Any]:
    """Return the nodes of the keys of PARTITION BY: one key, or several in parentheses."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def parse(text: str) -> Any:
    """Parse a text that is one query, and return its tree.

    Raises:
        SqlError: The text is not SQL, or not one statement.
    """
    dialect = StreamingSpark()
    try:
        tokens = dialect.tokenize(text)
        _read_window_as_column(tokens)
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except ParseError as error:
        fact = error.errors[0]["description"] if error.errors else str(error)
        if fact.startswith("Required keyword"):  # such a message names a class of sqlglot's
            fact = "An expression is missing"
        start = getattr(error, "start", len(text))
        words = fact[:1].lower() + fact[1:].rstrip(".")
        raise SqlError(text, start, fact=words, advice=_advice_at(text, start)) from error
    except IndexError as error:  # sqlglot takes the arguments of some functions without counting them
        fact = "a function has too few arguments, such as a MAP with a key that has no value"
        raise SqlError(text, start=0, fact=fact) from error
    except TokenError as error:
        raise SqlError(
            text, start=len(text), fact="the text ends within a word, such as a quoted one or a comment"
        ) from error
    if len(trees) != 1:
        raise SqlError(text, start=0, fact=f"expected one query, got {len(trees)}")
    return trees[0]


def _read_window_as_column(tokens: list[Any]) -> None:
    """Make each word `window` a name, as of the column with the windows, unless it begins `WINDOW w AS (...)`.

    Args:
        tokens: The tokens of a text, which are changed.
    """
    for place, token in enumerate(tokens):
        if token.token_type != TokenType.WINDOW:
            continue
        as_place = place + 2  # WINDOW, its name, AS
        begins_clause = as_place < len(tokens) and tokens[as_place].token_type == TokenType.ALIAS
        if not begins_clause:
            token.token_type = TokenType.VAR


def _advice_at(text: str, start: int) -> str:
    """Return advice about the word at which the text stops being a query; empty if no known word is close to it."""
    match = re.match(r"\w*", text[start:])
    word = match.group().upper() if match else ""
    if word == "FOR":
        return "FOR SYSTEM_TIME AS OF stands before AS and the name of the stream"
    clauses = (*QUERY_CLAUSES, *STREAM_CLAUSES, "PARTITION BY", "DESCRIPTOR")
    known_words = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", *clauses)
    close = difflib.get_close_matches(word, known_words, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close and close[0] != word else ""
