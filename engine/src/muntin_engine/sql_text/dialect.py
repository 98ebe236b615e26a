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

from muntin_engine.sql_text.sql_aggregates import AGGREGATES
from muntin_engine.sql_text.sql_source import SqlError
from muntin_engine.sql_text.window_functions import FUNCTIONS

QUERY_CLAUSES: Final = ("EMIT", "CLIP", "TIMESTAMPS", "FORGET", "EVALUATOR")
"""The first words of clauses that follow a query."""

STREAM_CLAUSES: Final = ("WATERMARK", "LATE", "THEN")
"""The first words of clauses that follow the table of a stream."""

_OURS: Final = frozenset({*AGGREGATES, *FUNCTIONS})
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
    """Wrap the parser of a modifier such as `LIMIT 3`, so that its node knows its place."""

    def parse(parser: Any) -> tuple[str, Any]:
        first = parser._curr
        name, node = parse_modifier(parser)
        return name, parser._keep(node, first)

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
        QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
            token: _placed(parse) for token, parse in Spark.Parser.QUERY_MODIFIER_PARSERS.items()
        }

        def raise_error(self, message: str, token: Any = None) -> None:
            """Raise an error that has the start of its word, as `start`."""
            word = token or self._curr or self._prev
            try:
                super().raise_error(message, word)
            except ParseError as error:
                # sqlglot itself counts to the end of the word
                error.start = word.start if word else 0  # type: ignore[attr-defined]
                raise

        def _keep(self, node: Any, first: Any) -> Any:
            """Give a node its text: from a first token up to the last one that was read."""
            if isinstance(node, exp.Expression) and first and self._prev and self._prev.end >= first.start:
                node.meta.setdefault("from", first.start)
                node.meta.setdefault("text", self._find_sql(first, self._prev))
            return node

        def _parse_disjunction(self) -> Any:
            first = self._curr
            return self._keep(super()._parse_disjunction(), first)

        # Operands of AND, of comparisons and of sums keep their text too: their nodes lack words such as NOT, IS NULL
        # and the unit of an interval, so a span over the nodes would leave these out.

        def _parse_equality(self, *arguments: Any, **options: Any) -> Any:
            first = self._curr
            return self._keep(super()._parse_equality(*arguments, **options), first)

        def _parse_bitwise(self) -> Any:
            first = self._curr
            return self._keep(super()._parse_bitwise(), first)

        def _parse_unary(self) -> Any:
            first = self._curr
            return self._keep(super()._parse_unary(), first)

        def _parse_select(self, *arguments: Any, **options: Any) -> Any:
            first = self._curr
            return self._keep(super()._parse_select(*arguments, **options), first)

        def _parse_lambda(self, alias: bool = False) -> Any:
            first = self._curr
            if first.token_type == TokenType.TABLE:
                return self._keep(self._parse_stream_table(), first)
            if self._next.token_type == TokenType.FARROW and first.token_type != TokenType.L_PAREN:
                name = exp.to_identifier(first.text).update_positions(first)
                self._advance(2)
                return self._keep(self.expression(exp.Kwarg(this=name, expression=self._parse_lambda())), first)
            if first.text.upper() == "WHEN" and self._next.token_type == TokenType.L_PAREN:  # the trigger
                return self._keep(self._parse_function(anonymous=True, any_token=True), first)
            return self._keep(super()._parse_lambda(alias), first)

        def _parse_function_call(
            self, functions: Any = None, anonymous: bool = False, optional_parens: bool = True, any_token: bool = False
        ) -> Any:
            first = self._curr
            # Aggregates stay calls by name: sqlglot would make nodes of its own of them.
            is_ours = first is not None and first.text.upper() in _OURS
            node = super()._parse_function_call(functions, anonymous or is_ours, optional_parens, any_token)
            return self._keep(node, first)

        def _parse_table_alias(self, alias_tokens: Any = None) -> Any:
            is_clause = self._curr.text.upper() in QUERY_CLAUSES and self._curr.token_type != TokenType.IDENTIFIER
            return None if is_clause else super()._parse_table_alias(alias_tokens)

        def _parse_query_modifiers(self, this: Any) -> Any:
            this = super()._parse_query_modifiers(this)
            while isinstance(this, self.MODIFIABLES) and self._curr and self._curr.text.upper() in QUERY_CLAUSES:
                this.meta.setdefault("clauses", []).append(self._parse_clause())
            return this

        def _parse_stream_table(self) -> Any:
            self._match(TokenType.TABLE)
            first = self._curr
            if self._match(TokenType.L_PAREN):
                this = self._parse_select()
                self._match_r_paren()
            else:
                this = self._keep(self._parse_table_parts(), first)
            stream = self.expression(StreamTable(this=this))
            while self._curr:
                if not stream.args.get("keys") and self._match(TokenType.PARTITION_BY):
                    stream.set("keys", _flat(self._parse_disjunction()))
                elif not stream.args.get("order") and self._match(TokenType.ORDER_BY):
                    stream.set("order", self._parse_disjunction())
                elif self._curr.text.upper() in STREAM_CLAUSES:
                    stream.append("clauses", self._parse_clause())
                else:
                    break
            return stream

        def _parse_clause(self) -> Any:
            first = self._curr
            self._advance()
            clause = self.expression(Clause(this=first.text.upper()))
            words = (*QUERY_CLAUSES, *STREAM_CLAUSES)
            while self._curr and self._curr.token_type not in _ENDS_CLAUSE:
                if self._curr.text.upper() in words and self._curr.token_type != TokenType.IDENTIFIER:
                    break
                clause.append("expressions", self._parse_part())
            return self._keep(clause, first)

        def _parse_part(self) -> Any:
            """Read a part of a clause: a word, a call, or a value."""
            first = self._curr
            start = self._index
            is_path_or_call = self._next.token_type in (TokenType.L_PAREN, TokenType.DOT)
            if first.token_type not in _STARTS_VALUE and not is_path_or_call:
                self._advance()
                return self._keep(exp.var(first.text), first)
            is_call = self._next.token_type == TokenType.L_PAREN
            part = self._parse_function(anonymous=True, any_token=True) if is_call else self._parse_unary()
            if part is None or self._index == start:
                self.raise_error("expected a length, a word or a call", first)
            return self._keep(part, first)

        def _parse_match_recognize(self) -> Any:
            """Parse MATCH_RECOGNIZE, whose clauses are kept as words where they are no expressions."""
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
            return self._keep(self.expression(Matching(**clauses, alias=self._parse_table_alias())), first)

        def _words_until(self, *ends: str) -> Any:
            first = self._curr
            words: list[str] = []
            while self._curr and self._curr.text.upper() not in ends:
                words.append(self._curr.text)
                self._advance()
            return self._keep(exp.var(" ".join(words)), first) if words else None


def _flat(key: Any) -> list[Any]:
    """Return the keys of PARTITION BY, of which several stand in parentheses."""
    if isinstance(key, exp.Tuple):
        return list(key.expressions)
    return [key.this if isinstance(key, exp.Paren) else key]


def parse(text: str) -> Any:
    """Return the tree of a text that is one query.

    Raises:
        SqlError: The text is not SQL, or not one statement.
    """
    dialect = StreamingSpark()
    try:
        tokens = dialect.tokenize(text)
        for token, second_next in zip(tokens, [*tokens[2:], None, None], strict=False):
            # `window` is the column of windows, unless it begins a clause `WINDOW w AS (...)`.
            is_clause = second_next is not None and second_next.token_type == TokenType.ALIAS
            if token.token_type == TokenType.WINDOW and not is_clause:
                token.token_type = TokenType.VAR
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except ParseError as error:
        fact = error.errors[0]["description"] if error.errors else str(error)
        if fact.startswith("Required keyword"):  # which names a class of sqlglot's
            fact = "An expression is missing"
        start = getattr(error, "start", len(text))
        words = fact[:1].lower() + fact[1:].rstrip(".")
        raise SqlError(text, start, words, _advice_at(text, start)) from error
    except TokenError as error:
        raise SqlError(text, len(text), "the text ends within a word, such as a quoted one or a comment") from error
    if len(trees) != 1:
        raise SqlError(text, 0, f"expected one query, got {len(trees)}")
    return trees[0]


def _advice_at(text: str, start: int) -> str:
    """Return advice about a word at which a query does not go on as it should; empty if no known word is close."""
    match = re.match(r"\w*", text[start:])
    word = match.group().upper() if match else ""
    if word == "FOR":
        return "FOR SYSTEM_TIME AS OF stands before AS and the name of the stream"
    clauses = (*QUERY_CLAUSES, *STREAM_CLAUSES, "PARTITION BY", "DESCRIPTOR")
    known = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", *clauses)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close and close[0] != word else ""
