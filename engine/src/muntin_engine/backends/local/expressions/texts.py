"""Functions of text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import text_literal
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, any_raises, cast
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule

_NO_PLAIN_CAPITALS: Final = (
    r"[\x{149}\x{19B}\x{1F0}\x{264}\x{390}\x{3B0}\x{587}\x{1C8A}\x{1E96}-\x{1E9A}\x{1F50}-\x{1FFF}\x{A7CD}-\x{A7DB}"
    r"\x{FB00}-\x{FB17}\x{10D70}-\x{10D85}\x{16EBB}-\x{16ED3}]"
)
"""Letters whose capitals are several letters, which DuckDB does not write, and letters that it does not know yet."""

_NO_PLAIN_SMALL_LETTERS: Final = r"[\x{130}\x{3A3}\x{1C89}\x{A7CB}-\x{A7DC}\x{10D50}-\x{10D65}\x{16EA0}-\x{16EB8}]"
"""Capitals whose small letters are several, follow from what is beside them, or are not known to DuckDB yet."""


@rule(exp.Upper)
def _translate_upper(translator: Translator, node: exp.Upper) -> DuckdbExpression:
    return _in_case(translator, node, "UPPER", _NO_PLAIN_CAPITALS)


@rule(exp.Lower)
def _translate_lower(translator: Translator, node: exp.Lower) -> DuckdbExpression:
    return _in_case(translator, node, "LOWER", _NO_PLAIN_SMALL_LETTERS)


@rule(exp.Length)
def _translate_length(translator: Translator, node: exp.Length) -> DuckdbExpression:
    value = _of_text(translator, node, "LENGTH")
    return DuckdbExpression(f"CAST({value.sql} AS INTEGER)", pa.int32(), may_raise=value.may_raise)


@rule(exp.StartsWith)
def _translate_startswith(translator: Translator, node: exp.StartsWith) -> DuckdbExpression:
    return _test_of_text(translator, node, "STARTS_WITH", node.expression)


@rule(exp.EndsWith)
def _translate_endswith(translator: Translator, node: exp.EndsWith) -> DuckdbExpression:
    return _test_of_text(translator, node, "ENDS_WITH", node.expression)


@rule(exp.Contains)
def _translate_contains(translator: Translator, node: exp.Contains) -> DuckdbExpression:
    return _test_of_text(translator, node, "CONTAINS", node.expression)


@rule(exp.Concat)
def _translate_concat(translator: Translator, node: exp.Concat) -> DuckdbExpression:
    return _joined(translator, node, node.expressions)


@rule(exp.DPipe)
def _translate_two_pipes(translator: Translator, node: exp.DPipe) -> DuckdbExpression:
    return _joined(translator, node, [node.this, node.expression])


def _joined(translator: Translator, node: exp.Expr, operands: Sequence[exp.Expr]) -> DuckdbExpression:
    """Translate texts one after the other, null if one is: DuckDB's own `concat` leaves nulls out."""
    values = [text_in(translator, node, operand) for operand in operands]
    sql = " || ".join(f"CAST({value.sql} AS VARCHAR)" for value in values)
    return DuckdbExpression(f"({sql})", pa.string(), may_raise=any_raises(*values))


def _in_case(translator: Translator, node: exp.Expr, function: str, other_letters: str) -> DuckdbExpression:
    """Translate `upper` or `lower`; a row with letters that Spark may write otherwise is an error.

    Args:
        translator: The translator of the expression.
        node: The node, whose operand is the text.
        function: The function of DuckDB, `UPPER` or `LOWER`.
        other_letters: A pattern for letters in whose case the two systems differ.
    """
    # A text of as many bytes as characters is ASCII, where the two systems agree: most texts need only this test.
    # For the capital of ß, Spark writes SS, and DuckDB a letter that few fonts have. So ß is replaced before.
    value = text_in(translator, node, node.this)
    failure = translator.failure(node, "'the text has letters that have no single letter in the other case'")
    sql = (
        f"(CASE WHEN strlen({value.sql}) = LENGTH({value.sql}) THEN {function}({value.sql})"
        f" WHEN regexp_matches({value.sql}, {text_literal(other_letters)}) THEN {failure}"
        f" ELSE {function}(replace({value.sql}, '\u00df', {_SHARP_S[function]})) END)"
    )
    return DuckdbExpression(sql, pa.string(), may_raise=True)


_LONGEST_TEXT: Final = 2_147_483_647
"""The characters that a text has at most."""

_SHARP_S: Final[Mapping[str, str]] = {"UPPER": "'SS'", "LOWER": "'\u00df'"}
"""What becomes of the letter that is common in German and has two capitals, in DuckDB's SQL."""


def _of_text(translator: Translator, node: exp.Expr, function: str) -> DuckdbExpression:
    """Translate a call of a function of one text, by the name of the function in DuckDB."""
    value = text_in(translator, node, node.this)
    return DuckdbExpression(f"{function}({value.sql})", pa.string(), may_raise=value.may_raise)


def _test_of_text(translator: Translator, node: exp.Expr, function: str, searched: exp.Expr) -> DuckdbExpression:
    """Translate a test of a text for another one.

    Args:
        translator: The translator of the expression.
        node: The node, whose operand is the text.
        function: The test, as a function of DuckDB.
        searched: The text that is searched for.
    """
    values = [text_in(translator, node, operand) for operand in (node.this, searched)]
    listed = ", ".join(value.sql for value in values)
    return DuckdbExpression(f"{function}({listed})", pa.bool_(), may_raise=any_raises(*values))


def text_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that has to be text.

    Args:
        translator: The translator of the expression.
        node: The node whose operand it is, for errors.
        operand: The operand.

    Raises:
        QueryError: The operand is of another type.
    """
    return translator.operand(node, operand, pa.types.is_string)


# ------------------------------------------------------------------------------------------------------ parts of a text


@rule(exp.Trim)
def _translate_trim(translator: Translator, node: exp.Trim) -> DuckdbExpression:
    """Translate `TRIM`, `LTRIM` and `RTRIM`, which cut off spaces or other characters."""
    function = _TRIMS[node.args.get("position") or "BOTH"]
    value = text_in(translator, node, node.this)
    # Spark cuts off plain spaces alone. Without this argument, DuckDB would cut off tabs and ends of lines as well.
    characters = DuckdbExpression("' '", pa.string())
    if node.expression is not None:
        characters = text_in(translator, node, node.expression)
    return DuckdbExpression(
        f"{function}({value.sql}, {characters.sql})", pa.string(), may_raise=any_raises(value, characters)
    )


_TRIMS: Final[Mapping[str, str]] = {"BOTH": "TRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}
"""The functions of DuckDB by the ends of a text that they trim."""


@function_rule("btrim", arguments=(1, 2))
def _translate_btrim(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `btrim(s)` and `btrim(s, characters)`, as `TRIM`."""
    operands = list(node.expressions)
    return translator.translate(exp.Trim(this=operands[0], expression=operands[1] if len(operands) > 1 else None))


@rule(exp.Substring)
def _translate_substring(translator: Translator, node: exp.Substring) -> DuckdbExpression:
    return _part(translator, node, node.args["start"], node.args.get("length"))


@rule(exp.Left)
def _translate_left(translator: Translator, node: exp.Left) -> DuckdbExpression:
    return _part(translator, node, exp.Literal.number(1), node.expression)


@rule(exp.Right)
def _translate_right(translator: Translator, node: exp.Right) -> DuckdbExpression:
    """Translate `RIGHT(s, count)`; Spark returns empty text for a negative count, and DuckDB leaves characters out."""
    value = text_in(translator, node, node.this)
    count = _count_in(translator, node, node.expression)
    # `LEFT(s, 0)` is empty text, but null for null.
    sql = f"(CASE WHEN {count.sql} <= 0 THEN LEFT({value.sql}, 0) ELSE RIGHT({value.sql}, {count.sql}) END)"
    return DuckdbExpression(sql, pa.string(), may_raise=any_raises(value, count))


def _part(
    translator: Translator, node: exp.Expr, start_node: exp.Expr, length_node: exp.Expr | None
) -> DuckdbExpression:
    """Translate a part of a text. Characters are counted from 1 on, or from the end if the start is negative.

    Args:
        translator: The translator of the expression.
        node: The node, whose operand is the text.
        start_node: The place of the first character; 0 means the same as 1.
        length_node: The number of characters; None for all that follow.
    """
    value = text_in(translator, node, node.this)
    start = _count_in(translator, node, start_node)
    # Without a length, Spark takes as many characters from the start on as a text can have. Where the start lies still
    # farther before the text, the part is empty.
    length = _count_in(translator, node, length_node or exp.Literal.number(_LONGEST_TEXT))
    # The place where the part begins, counted from 0 on. It is below zero if the part begins before the text.
    begin = (
        f"(CASE WHEN {start.sql} > 0 THEN {start.sql} - 1 WHEN {start.sql} = 0 THEN 0"
        f" ELSE LENGTH({value.sql}) + {start.sql} END)"
    )
    # What lies before the text counts for the length, and has no characters.
    begin_in_text = f"GREATEST({begin}, 0)"
    length_in_text = f"({begin} + {length.sql} - {begin_in_text})"
    is_null = f"{start.sql} IS NULL OR {length.sql} IS NULL"
    sql = (
        f"(CASE WHEN {is_null} THEN NULL"
        f" ELSE substring({value.sql}, {begin_in_text} + 1, GREATEST({length_in_text}, 0)) END)"
    )
    return DuckdbExpression(sql, pa.string(), may_raise=any_raises(value, start, length))


def _count_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that counts characters, as a bigint, so that sums of counts do not overflow.

    Args:
        translator: The translator of the expression.
        node: The node whose operand it is, for errors.
        operand: The operand.

    Raises:
        QueryError: The operand is no whole number of at most 32 bits.
    """
    count = translator.operand(node, operand, lambda kind: pa.types.is_integer(kind) and kind != pa.int64())
    return cast(count, pa.int64())


@rule(exp.Replace)
def _translate_replace(translator: Translator, node: exp.Replace) -> DuckdbExpression:
    """Translate `replace(s, search, replacement)`; as on Spark, a search for empty text replaces nothing."""
    replacement_node = node.args.get("replacement") or exp.Literal.string("")
    values = [text_in(translator, node, operand) for operand in (node.this, node.expression, replacement_node)]
    value, searched, replacement = values
    replaced = f"replace({value.sql}, {searched.sql}, {replacement.sql})"
    # Asked before the search for empty text, whose result is the value even if the replacement is null.
    is_null = f"{searched.sql} IS NULL OR {replacement.sql} IS NULL"
    sql = f"(CASE WHEN {is_null} THEN NULL WHEN {searched.sql} = '' THEN {value.sql} ELSE {replaced} END)"
    return DuckdbExpression(sql, pa.string(), may_raise=any_raises(*values))


@rule(exp.ConcatWs)
def _translate_concat_ws(translator: Translator, node: exp.ConcatWs) -> DuckdbExpression:
    """Translate `concat_ws(separator, ...)`, which leaves nulls out; without texts it is empty."""
    # By these two parts, sqlglot notes that Spark leaves nulls out, as DuckDB does, and takes lists of texts, which are
    # refused below. They are read only because the translator refuses a node with a part that its rule has not read.
    for part in ("coalesce", "flatten"):
        _ = node.args.get(part)
    separator, *values = (text_in(translator, node, operand) for operand in node.expressions)
    listed = ", ".join(value.sql for value in (separator, *values))
    sql = f"concat_ws({listed})" if values else f"LEFT({separator.sql}, 0)"  # empty, but null for a null separator
    return DuckdbExpression(sql, pa.string(), may_raise=any_raises(separator, *values))


@rule(exp.StrPosition)
def _translate_instr(translator: Translator, node: exp.StrPosition) -> DuckdbExpression:
    """Translate `instr(s, search)`: the place where a text is found first, from 1 on; 0 if it is not."""
    if node.args.get("position") is not None:
        raise translator.refusal(node, "begins at a place", "look in a part: INSTR(SUBSTRING(s, 3), 'a')")
    value = text_in(translator, node, node.this)
    searched = text_in(translator, node, node.args["substr"])
    # Empty text is found at place 1 of any text, and not in null: there, `0 * LENGTH(...)` makes the place null.
    sql = (
        f"(CASE WHEN {searched.sql} = '' THEN 1 + 0 * LENGTH({value.sql}) ELSE instr({value.sql}, {searched.sql}) END)"
    )
    return DuckdbExpression(f"CAST({sql} AS INTEGER)", pa.int32(), may_raise=any_raises(value, searched))


@rule(exp.Repeat)
def _translate_repeat(translator: Translator, node: exp.Repeat) -> DuckdbExpression:
    """Translate `repeat(s, times)`, which is empty for a negative number."""
    value = text_in(translator, node, node.this)
    count = _count_in(translator, node, node.args["times"])
    times = f"(CASE WHEN {count.sql} < 0 THEN 0 ELSE {count.sql} END)"
    return DuckdbExpression(f"repeat({value.sql}, {times})", pa.string(), may_raise=any_raises(value, count))


@rule(exp.MD5)
def _translate_md5(translator: Translator, node: exp.MD5) -> DuckdbExpression:
    return _of_text(translator, node, "md5")


@rule(exp.SHA2)
def _translate_sha2(translator: Translator, node: exp.SHA2) -> DuckdbExpression:
    """Translate `sha2(s, 256)`, which Spark also writes `sha2(s, 0)`."""
    length = node.args.get("length")
    if length is None or length.name not in ("0", "256"):
        raise translator.refusal(node, "has another length", "write SHA2(s, 256)")
    return _of_text(translator, node, "sha256")


@rule(exp.Hex)
def _translate_hex(translator: Translator, node: exp.Hex) -> DuckdbExpression:
    """Translate `hex` of a whole number, or of the bytes of a text."""
    value = translator.translate(node.this)
    if pa.types.is_integer(value.type):
        # A negative number has the digits of its two's complement in 64 bits.
        number = f"CAST({value.sql} AS HUGEINT)"
        digits = f"hex(CASE WHEN {value.sql} < 0 THEN {number} + {2**64} ELSE {number} END)"
        return DuckdbExpression(f"UPPER({digits})", pa.string(), may_raise=value.may_raise)
    if not pa.types.is_string(value.type):
        raise translator.type_refusal(node, value)
    return DuckdbExpression(f"hex({value.sql})", pa.string(), may_raise=value.may_raise)


# ------------------------------------------------------------------------------------------------------------ patterns


@rule(exp.Like)
def _translate_like(translator: Translator, node: exp.Like) -> DuckdbExpression:
    return _like(translator, node, node, "\\")


@rule(exp.Escape)
def _translate_escape(translator: Translator, node: exp.Escape) -> DuckdbExpression:
    """Translate `s LIKE pattern ESCAPE letter`."""
    escape = node.expression
    is_letter = isinstance(escape, exp.Literal) and escape.is_string and len(escape.this) == 1
    if not is_letter or type(node.this) is not exp.Like:
        raise translator.refusal(node, "escapes by more than one letter, or in no LIKE", "write LIKE 'a!%' ESCAPE '!'")
    return _like(translator, node, node.this, escape.this)


def _like(translator: Translator, node: exp.Expr, like: exp.Like, escape: str) -> DuckdbExpression:
    """Translate a test whether a text fits a pattern, in which `%` stands for any text and `_` for any character.

    Args:
        translator: The translator of the expression.
        node: The whole test, with its ESCAPE if there is one.
        like: The node with the text and the pattern.
        escape: The character that makes a `%` or `_` behind it stand for itself.

    Raises:
        QueryError: The pattern is not written out, or has the escape before another character.
    """
    value = text_in(translator, node, like.this)
    pattern = like.expression
    is_literal = isinstance(pattern, exp.Literal) and pattern.is_string
    if not is_literal or not _is_pattern(pattern.this, escape):
        raise translator.refusal(
            node, "has a pattern that is no text, or an escape before another letter", "write LIKE 'north%'"
        )
    sql = f"({value.sql} LIKE {text_literal(pattern.this)} ESCAPE {text_literal(escape)})"
    if like.args.get("negate"):
        sql = f"(NOT {sql})"
    return DuckdbExpression(sql, pa.bool_(), may_raise=value.may_raise)


def _is_pattern(pattern: str, escape: str) -> bool:
    """True if the escape stands only before `%`, `_` or itself; Spark refuses other patterns."""
    letters = re.escape(escape)
    return re.fullmatch(rf"(?:[^{letters}]|{letters}[%_{letters}])*", pattern, re.DOTALL) is not None


@rule(exp.RegexpLike)
def _translate_rlike(translator: Translator, node: exp.RegexpLike) -> DuckdbExpression:
    """Translate `s RLIKE pattern`, for patterns that DuckDB reads as Java does."""
    value = text_in(translator, node, node.this)
    pattern = node.expression
    is_literal = isinstance(pattern, exp.Literal) and pattern.is_string
    if not is_literal or not _PLAIN_PATTERN.fullmatch(pattern.this):
        raise translator.refusal(
            node,
            "has a pattern that is not known to mean the same without Spark",
            "write one of letters, digits, ., [a-z], (a|b), *, + and ?, perhaps after ^ and before $",
        )
    # In Java, `.` does not fit the end of a line, and `$` also fits before an end of a line that ends the text.
    searched = _ANY_OR_CLASS.sub(_any_of_java, pattern.this.removesuffix("$"))
    if pattern.this.endswith("$"):
        searched = f"(?:{searched}){_END_OF_JAVA}"
    sql = f"regexp_matches({value.sql}, {text_literal(searched)})"
    return DuckdbExpression(sql, pa.bool_(), may_raise=value.may_raise)


_PLAIN_PATTERN: Final = re.compile(
    r"\^?(?:[\w .,:;@#%&='\"!<>~/-]|\[\^?(?:\w-\w|[\w .,:;@#%='\"!<>~/])+-?\]|[|*+]|\((?!\?)|\)|(?<![?*+(|^])\?)*\$?"
)
"""The patterns that mean the same in Java and in DuckDB, but for `.` and `$`."""

_ANY_OR_CLASS: Final = re.compile(r"\[[^\]]*\]|\.")
_ANY_OF_JAVA: Final = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_END_OF_JAVA: Final = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"
"""The end of a text, or of its last line, as Java has it."""


def _any_of_java(match: re.Match[str]) -> str:
    """Return a part of a pattern with its meaning in Java: `.` is any character but an end of line, a class stays."""
    return _ANY_OF_JAVA if match[0] == "." else match[0]


@rule(exp.RegexpSplit)
def _translate_split(translator: Translator, node: exp.RegexpSplit) -> DuckdbExpression:
    """Translate `split(s, separator)`, whose separator is a pattern in Spark: only plain text is taken."""
    value = text_in(translator, node, node.this)
    separator = node.expression
    is_literal = isinstance(separator, exp.Literal) and separator.is_string
    is_plain = is_literal and re.fullmatch(r"[\w ,;:/#@=&%-]+", separator.this) is not None
    if not is_plain or node.args.get("limit") is not None:
        raise translator.refusal(node, "has a pattern or a limit", "write SPLIT(s, ',')")
    return DuckdbExpression(
        f"string_split({value.sql}, {text_literal(separator.this)})", pa.list_(pa.string()), may_raise=value.may_raise
    )
