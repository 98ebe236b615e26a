"""Dates, times and lengths of time.

A length of time, Spark's interval of days and seconds, is a whole number of microseconds here; times are in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import INSTANT, LENGTH, LOCAL_TIME, spelled, text_literal
from muntin_engine.backends.local.expressions.casts import converted
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DuckdbExpression,
    any_raises,
    cast,
    is_number,
    unless_null,
)
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule

_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND

_LENGTHS: Final[Mapping[str, int]] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
}
"""The lengths of time in microseconds that an interval may be written in. A day is 24 hours, as Spark has it."""

_MONTHS: Final[Mapping[str, int]] = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
"""The months of the units that differ in length."""

_TRUNCATED_TIMES: Final[Mapping[str, str]] = {
    **{unit: unit for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")},
    **{"MILLISECOND": "MILLISECOND", "MICROSECOND": "MICROSECOND", "YYYY": "YEAR", "YY": "YEAR"},
    **{"MON": "MONTH", "MM": "MONTH", "DD": "DAY"},
}
"""The units that `date_trunc` cuts a time to, by their names in Spark."""

_TRUNCATED_DATES: Final[Mapping[str, str]] = {
    name: unit for name, unit in _TRUNCATED_TIMES.items() if unit in ("YEAR", "QUARTER", "MONTH", "WEEK")
}
"""The units that `trunc` cuts a date to."""

_DATE_PARTS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Year: "year({})",
    exp.Quarter: "quarter({})",
    exp.Month: "month({})",
    exp.WeekOfYear: "week({})",
    exp.Day: "day({})",
    exp.DayOfMonth: "day({})",
    exp.DayOfYear: "dayofyear({})",
    exp.DayOfWeek: "dayofweek({}) + 1",  # Sunday is 1 in Spark, and 0 in DuckDB
}
"""The parts of dates, in DuckDB's SQL."""

_TIME_PARTS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Hour: "hour({})",
    exp.Minute: "minute({})",
    exp.Second: "second({})",
}
"""The parts of times, in DuckDB's SQL."""

_PARTS_BY_NAME: Final[Mapping[str, type[exp.Expr]]] = {
    **{"YEAR": exp.Year, "YEARS": exp.Year, "QUARTER": exp.Quarter, "MONTH": exp.Month, "WEEK": exp.WeekOfYear},
    **{"DAY": exp.Day, "DAYS": exp.Day, "DOY": exp.DayOfYear, "DAYOFWEEK": exp.DayOfWeek, "DOW": exp.DayOfWeek},
    **{"HOUR": exp.Hour, "HOURS": exp.Hour, "MINUTE": exp.Minute, "MINUTES": exp.Minute},
}
"""The parts that `extract` names. That of seconds has a fraction, and is left out."""

_YEAR_DIGITS: Final = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
"""A year of four digits, from 1 on."""

_TWO_DIGITS: Final = "([0-9]{2})"


class _DateLayout(NamedTuple):
    """A format of dates.

    Attributes:
        pattern: The regular expression for text that fits, with a group for each part.
        iso_date: The groups in the order in which ISO 8601 writes a date.
    """

    pattern: str
    iso_date: str


_DATE_LAYOUTS: Final[Mapping[str, _DateLayout]] = {
    "%Y-%mstrict-%dstrict": _DateLayout(f"{_YEAR_DIGITS}-{_TWO_DIGITS}-{_TWO_DIGITS}", r"\1-\2-\3"),
    "%Y%mstrict%dstrict": _DateLayout(f"{_YEAR_DIGITS}{_TWO_DIGITS}{_TWO_DIGITS}", r"\1-\2-\3"),
    "%Y/%mstrict/%dstrict": _DateLayout(f"{_YEAR_DIGITS}/{_TWO_DIGITS}/{_TWO_DIGITS}", r"\1-\2-\3"),
    "%dstrict.%mstrict.%Y": _DateLayout(rf"{_TWO_DIGITS}\.{_TWO_DIGITS}\.{_YEAR_DIGITS}", r"\3-\2-\1"),
    "%dstrict-%mstrict-%Y": _DateLayout(f"{_TWO_DIGITS}-{_TWO_DIGITS}-{_YEAR_DIGITS}", r"\3-\2-\1"),
    "%dstrict/%mstrict/%Y": _DateLayout(f"{_TWO_DIGITS}/{_TWO_DIGITS}/{_YEAR_DIGITS}", r"\3-\2-\1"),
    "%mstrict/%dstrict/%Y": _DateLayout(f"{_TWO_DIGITS}/{_TWO_DIGITS}/{_YEAR_DIGITS}", r"\3-\1-\2"),
}
"""The formats of dates, by what sqlglot makes of Spark's letters for them."""


# ---------------------------------------------------------------------------------------------------- parts of a time


@rule(*_DATE_PARTS, *_TIME_PARTS)
def _translate_part_of_time(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    return _part(translator, node, node.this, type(node))


@rule(exp.Extract)
def _translate_extract(translator: Translator, node: exp.Extract) -> DuckdbExpression:
    """Translate `EXTRACT(HOUR FROM t)`, by the name of the part."""
    part = _PARTS_BY_NAME.get(node.name.upper())
    if part is None:
        raise translator.refusal(node, f"takes {node.name}", f"expected: one of {', '.join(_PARTS_BY_NAME)}")
    return _part(translator, node, node.expression, part)


@function_rule("weekday")
def _translate_weekday(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `weekday`, which counts from Monday on, from 0."""
    value = _time_in(translator, node, node.expressions[0])
    return DuckdbExpression(f"CAST(isodow({value.sql}) - 1 AS INTEGER)", pa.int32(), may_raise=value.may_raise)


def _part(translator: Translator, node: exp.Expr, operand: exp.Expr, part: type[exp.Expr]) -> DuckdbExpression:
    """Translate a part of a date or a time, such as its hour.

    Args:
        translator: The translator of the expression.
        node: The node that asks for the part, for errors.
        operand: The date or the time.
        part: The part, as the kind of node that its function has.
    """
    value = _time_in(translator, node, operand)
    function = _DATE_PARTS.get(part)
    if function is None:
        function = _TIME_PARTS[part]
        if pa.types.is_date(value.type):
            value = cast(value, INSTANT)  # a date stands for its midnight
    return DuckdbExpression(f"CAST({function.format(value.sql)} AS INTEGER)", pa.int32(), may_raise=value.may_raise)


def _time_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that has to be a date or a time.

    Args:
        translator: The translator of the expression.
        node: The node whose operand it is, for errors.
        operand: The operand.

    Raises:
        QueryError: The operand is of another type.
    """
    # sqlglot wraps the operand of functions of dates in a cast to a date, which the query does not have. A cast that
    # the query does have, `to_date(s)`, is a node of the same kind, with the mark `safe`.
    is_wrapped = isinstance(operand, exp.TsOrDsToDate) and not operand.args.get("safe")
    value = translator.translate(operand.this if is_wrapped else operand)
    if not (pa.types.is_date(value.type) or pa.types.is_timestamp(value.type)):
        raise translator.refusal(
            node, f"takes {spelled(value.type)}", "expected: a date or a timestamp, such as CAST(s AS TIMESTAMP)"
        )
    return value


def _instant_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that has to be a moment; a date stands for its midnight in UTC.

    Args:
        translator: The translator of the expression.
        node: The node whose operand it is, for errors.
        operand: The operand.

    Raises:
        QueryError: The operand is of another type, or a time without a zone.
    """
    value = _time_in(translator, node, operand)
    if value.type == LOCAL_TIME:
        raise translator.refusal(node, "takes a time without a zone", "cast it to timestamp")
    return cast(value, INSTANT)


def _date_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that has to be a date or a time, as a date."""
    return cast(_time_in(translator, node, operand), pa.date32())


def _int_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate an operand that has to be a whole number of at most 32 bits, as an int.

    Args:
        translator: The translator of the expression.
        node: The node whose operand it is, for errors.
        operand: The operand.

    Raises:
        QueryError: The operand is of another type.
    """
    value = translator.operand(node, operand, pa.types.is_integer)
    if value.type == pa.int64():
        raise translator.refusal(node, "takes a bigint", "cast it to int")
    return cast(value, pa.int32())


# ------------------------------------------------------------------------------------------------------ dates, midnight


@rule(exp.TsOrDsToDate)
def _translate_to_date(translator: Translator, node: exp.TsOrDsToDate) -> DuckdbExpression:
    """Translate `to_date(s)`, a cast, or `to_date(s, format)`, which is an error for text that does not fit."""
    date_format = node.args.get("format")
    if date_format is None:
        return converted(translator, node, translator.translate(node.this), pa.date32())
    layout = _DATE_LAYOUTS.get(date_format.name)
    value = translator.translate(node.this)
    if layout is None or not pa.types.is_string(value.type):
        raise translator.refusal(
            node,
            "reads a format that is not known to mean the same without Spark",
            "expected: one of yyyy-MM-dd, yyyyMMdd, yyyy/MM/dd, dd.MM.yyyy, dd-MM-yyyy, dd/MM/yyyy, MM/dd/yyyy",
        )
    # A regular expression checks the text, and its groups are put in the order of ISO 8601. DuckDB's own parser would
    # take other text, too.
    failure = translator.failure(node, f"{text_literal('the text fits no date of the format: ')} || {value.sql}")
    day = f"CAST(regexp_replace({value.sql}, '{layout.pattern}', '{layout.iso_date}') AS DATE)"
    fits = f"regexp_full_match({value.sql}, '{layout.pattern}')"
    sql = f"(CASE WHEN {value.sql} IS NULL THEN NULL WHEN {fits} THEN {day} ELSE {failure} END)"
    return DuckdbExpression(sql, pa.date32(), may_raise=True)


@rule(exp.DateDiff)
def _translate_datediff(translator: Translator, node: exp.DateDiff) -> DuckdbExpression:
    """Translate `datediff(end, start)`: the number of days between two dates."""
    if node.args.get("unit") is not None:
        raise translator.refusal(node, "counts units", "write timestampdiff(HOUR, a, b), or datediff(b, a) for days")
    end = _date_in(translator, node, node.this)
    start = _date_in(translator, node, node.expression)
    return DuckdbExpression(f"CAST(({end.sql} - {start.sql}) AS INTEGER)", pa.int32(), may_raise=any_raises(end, start))


@rule(exp.TsOrDsAdd)
def _translate_date_add(translator: Translator, node: exp.TsOrDsAdd) -> DuckdbExpression:
    """Translate `date_add(d, days)`."""
    unit = node.args.get("unit")
    if unit is not None and unit.name.upper() != "DAY":
        raise translator.refusal(node, f"adds {unit.name.lower()}s", "write timestampadd(HOUR, 1, t)")
    day = _date_in(translator, node, node.this)
    count = _int_in(translator, node, node.expression)
    return DuckdbExpression(unless_null(day, count, f"({day.sql} + {count.sql})"), pa.date32(), may_raise=True)


@rule(exp.AddMonths)
def _translate_add_months(translator: Translator, node: exp.AddMonths) -> DuckdbExpression:
    """Translate `add_months(d, months)`: a day that the month lacks becomes its last day, in both systems."""
    day = _date_in(translator, node, node.this)
    count = _int_in(translator, node, node.expression)
    sql = f"CAST(({day.sql} + to_months({count.sql})) AS DATE)"
    return DuckdbExpression(unless_null(day, count, sql), pa.date32(), may_raise=True)


@rule(exp.LastDay)
def _translate_last_day(translator: Translator, node: exp.LastDay) -> DuckdbExpression:
    day = _date_in(translator, node, node.this)
    return DuckdbExpression(f"last_day({day.sql})", pa.date32(), may_raise=True)


@rule(exp.DateTrunc)
def _translate_trunc(translator: Translator, node: exp.DateTrunc) -> DuckdbExpression:
    """Translate `trunc(d, unit)`: the first day of the week, month, quarter or year of a date."""
    unit = _TRUNCATED_DATES.get(node.args["unit"].name.upper())
    if unit is None:
        raise translator.refusal(node, "cuts to no unit of dates", f"expected: {', '.join(_TRUNCATED_DATES)}")
    day = _date_in(translator, node, node.this)
    return DuckdbExpression(f"CAST(date_trunc('{unit}', {day.sql}) AS DATE)", pa.date32(), may_raise=True)


@rule(exp.TimestampTrunc)
def _translate_date_trunc(translator: Translator, node: exp.TimestampTrunc) -> DuckdbExpression:
    """Translate `date_trunc(unit, t)`: the start of the unit that a moment lies in."""
    unit = _TRUNCATED_TIMES.get(node.args["unit"].name.upper())
    if unit is None:
        raise translator.refusal(node, "cuts to no unit of times", f"expected: {', '.join(_TRUNCATED_TIMES)}")
    moment = _instant_in(translator, node, node.this)
    # The moment is cut as a time without a zone. DuckDB cuts a time with a zone by its library of calendars, which is
    # slower and knows fewer years.
    clock = f"date_trunc('{unit}', make_timestamp(epoch_us({moment.sql})))"
    return DuckdbExpression(f"make_timestamptz(epoch_us({clock}))", INSTANT, may_raise=True)


# ---------------------------------------------------------------------------------------------------- moments, numbers


@rule(exp.UnixMicros)
def _translate_unix_micros(translator: Translator, node: exp.UnixMicros) -> DuckdbExpression:
    return _ticks(translator, node, node.this, 1)


@rule(exp.UnixMillis)
def _translate_unix_millis(translator: Translator, node: exp.UnixMillis) -> DuckdbExpression:
    return _ticks(translator, node, node.this, 1_000)


@rule(exp.UnixSeconds)
def _translate_unix_seconds(translator: Translator, node: exp.UnixSeconds) -> DuckdbExpression:
    return _ticks(translator, node, node.this, _SECOND)


@rule(exp.StrToUnix)
def _translate_unix_timestamp(translator: Translator, node: exp.StrToUnix) -> DuckdbExpression:
    """Translate `unix_timestamp(t)`: the seconds since 1970, cut off towards zero."""
    if node.this is None or isinstance(node.this, exp.CurrentTimestamp):
        raise translator.refusal(node, "reads the clock", "compute the column before events()")
    # The format is for text only, and text is refused. It is read all the same: the translator refuses a node with a
    # part that its rule has not read.
    _ = node.args.get("format")
    moment = _instant_in(translator, node, node.this)
    # Before 1970, `//` rounds up, as Spark does here; `unix_seconds` rounds down.
    return DuckdbExpression(f"(epoch_us({moment.sql}) // {_SECOND})", pa.int64(), may_raise=moment.may_raise)


def _ticks(translator: Translator, node: exp.Expr, operand: exp.Expr, length: int) -> DuckdbExpression:
    """Translate the number of units of a length from 1970 to a moment, rounded down, also before 1970.

    Args:
        translator: The translator of the expression.
        node: The node that counts, for errors.
        operand: The moment.
        length: The length of a unit in microseconds.
    """
    moment = _instant_in(translator, node, operand)
    micros = f"epoch_us({moment.sql})"
    sql = micros
    if length > 1:
        # DuckDB's `//` rounds towards zero: before 1970 that is one too many, unless nothing remains. A remainder has
        # the sign of the dividend, so it is below zero exactly where one is too many.
        sql = f"({micros} // {length} - CAST({micros} % {length} < 0 AS BIGINT))"
    return DuckdbExpression(sql, pa.int64(), may_raise=moment.may_raise)


@function_rule("timestamp_seconds")
def _translate_timestamp_seconds(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    return _moment(translator, node, _SECOND)


@function_rule("timestamp_millis")
def _translate_timestamp_millis(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    return _moment(translator, node, 1_000)


@function_rule("timestamp_micros")
def _translate_timestamp_micros(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    return _moment(translator, node, 1)


def _moment(translator: Translator, node: exp.Anonymous, length: int) -> DuckdbExpression:
    """Translate the moment that lies a number of units after 1970.

    Args:
        translator: The translator of the expression.
        node: The call, whose argument is the number of units.
        length: The length of a unit in microseconds.
    """
    count = cast(translator.operand(node, node.expressions[0], pa.types.is_integer), pa.int64())
    return DuckdbExpression(
        f"make_timestamptz(multiply({count.sql}, CAST({length} AS BIGINT)))", INSTANT, may_raise=True
    )


@function_rule("make_date", arguments=(3,))
def _translate_make_date(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `make_date(year, month, day)`, which is null if a part is."""
    parts = [_int_in(translator, node, operand) for operand in node.expressions]
    listed = ", ".join(part.sql for part in parts)
    is_null = " OR ".join(f"{part.sql} IS NULL" for part in parts)
    return DuckdbExpression(
        f"(CASE WHEN {is_null} THEN NULL ELSE make_date({listed}) END)", pa.date32(), may_raise=True
    )


@rule(exp.TimestampDiff)
def _translate_timestampdiff(translator: Translator, node: exp.TimestampDiff) -> DuckdbExpression:
    """Translate `timestampdiff(unit, start, end)`: the number of units between two moments, cut off towards zero."""
    length = _LENGTHS.get(node.args["unit"].name.upper())
    if length is None:
        raise translator.refusal(node, "counts units of several lengths", f"expected: {', '.join(_LENGTHS)}")
    end = _instant_in(translator, node, node.this)
    start = _instant_in(translator, node, node.expression)
    sql = f"((epoch_us({end.sql}) - epoch_us({start.sql})) // {length})"
    return DuckdbExpression(unless_null(end, start, sql), pa.int64(), may_raise=True)


@rule(exp.TimestampAdd)
def _translate_timestampadd(translator: Translator, node: exp.TimestampAdd) -> DuckdbExpression:
    """Translate `timestampadd(unit, count, t)`."""
    moment = translator.operand(node, node.this, pa.types.is_timestamp)
    count = _int_in(translator, node, node.expression)
    unit = node.args["unit"].name.upper()
    if unit in _MONTHS:  # months differ in length, and DuckDB moves by them as Spark does
        length = f"to_months({count.sql} * {_MONTHS[unit]})"
    elif unit in _LENGTHS:
        length = f"to_microseconds(CAST({count.sql} AS BIGINT) * {_LENGTHS[unit]})"
    else:
        raise translator.refusal(node, f"adds {unit.lower()}s", f"expected: {', '.join([*_LENGTHS, *_MONTHS])}")
    return DuckdbExpression(unless_null(moment, count, f"({moment.sql} + {length})"), moment.type, may_raise=True)


# ------------------------------------------------------------------------------------------------------------- lengths


@rule(exp.Interval)
def _translate_interval(translator: Translator, node: exp.Interval) -> DuckdbExpression:
    return DuckdbExpression(f"CAST({_microseconds(translator, node)} AS BIGINT)", LENGTH)


def _microseconds(translator: Translator, node: exp.Interval) -> int:
    """Return the microseconds of an interval that is written out, such as `INTERVAL 90 MINUTES`.

    Raises:
        QueryError: The interval is of months, or its parts cannot be read.
    """
    number = node.this
    unit = node.args.get("unit")
    refusal = translator.refusal(
        node, "is no length of time", "expected: such as INTERVAL 90 MINUTES; months differ in length"
    )
    sign = 1
    if isinstance(number, exp.Neg):
        sign = -1
        number = number.this
    if not isinstance(number, exp.Literal):
        raise refusal
    if unit is None:
        return _sum_of_lengths(number.this, refusal)  # one text with all units, such as INTERVAL '1 day 2 hours'
    length = _LENGTHS.get(unit.name.upper().removesuffix("S"))
    text = number.this.strip()
    pattern = r"[+-]?[0-9]+"
    if length == _SECOND:
        pattern = r"[+-]?[0-9]+(\.[0-9]{1,6})?"  # only seconds have a fraction
    if length is None or not re.fullmatch(pattern, text):
        raise refusal
    return sign * int(Decimal(text) * length)


def _sum_of_lengths(text: str, refusal: Exception) -> int:
    """Return the microseconds of text such as `1 day 2 hours`.

    Args:
        text: The text.
        refusal: The error to raise for text that cannot be read.
    """
    words = text.lower().split()
    total = 0
    if not words or len(words) % 2:
        raise refusal
    for number, unit in zip(words[::2], words[1::2], strict=True):
        length = _LENGTHS.get(unit.upper().removesuffix("S"))
        if length is None or not re.fullmatch(r"[+-]?[0-9]+", number):
            raise refusal
        total += int(number) * length
    return total


@function_rule("make_dt_interval", arguments=(0, 1, 2, 3, 4))
def _translate_make_dt_interval(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `make_dt_interval(days, hours, minutes, seconds)`."""
    parts: list[DuckdbExpression] = []
    for operand in node.expressions:
        parts.append(_int_in(translator, node, operand))
    # The arguments are days, hours, minutes and seconds. The last ones may be left out.
    lengths = (_LENGTHS["DAY"], _LENGTHS["HOUR"], _LENGTHS["MINUTE"], _LENGTHS["SECOND"])
    products = [f"CAST({part.sql} AS BIGINT) * {length}" for part, length in zip(parts, lengths, strict=False)]
    return DuckdbExpression(f"({' + '.join(products) or 'CAST(0 AS BIGINT)'})", LENGTH, may_raise=True)


def sum_of_times(
    translator: Translator, node: exp.Binary, sign: str, left: DuckdbExpression, right: DuckdbExpression
) -> DuckdbExpression | None:
    """Translate a sum or difference of times and lengths of time, except of a time and months.

    Args:
        translator: The translator of the expression.
        node: The sum or difference.
        sign: `+` or `-`.
        left: The translated left operand.
        right: The translated right operand.

    Returns:
        The translation; None if the operands are no times and lengths that make a sum. The caller then takes them as
        numbers, and refuses them if they are none.

    Raises:
        QueryError: Spark has no such sum, or it is not known to mean the same.
    """
    if sign == "+" and left.type == LENGTH and pa.types.is_timestamp(right.type):
        left, right = right, left  # from here on a time comes before a length

    # A time is moved by a length; two lengths are added.
    if right.type == LENGTH and pa.types.is_timestamp(left.type):
        sql = f"({left.sql} {sign} to_microseconds({right.sql}))"
        return DuckdbExpression(unless_null(left, right, sql), left.type, may_raise=True)
    if right.type == LENGTH and left.type == LENGTH:
        function = "add" if sign == "+" else "subtract"
        return DuckdbExpression(
            unless_null(left, right, f"{function}({left.sql}, {right.sql})"), LENGTH, may_raise=True
        )
    # By whole days a date moves to another date. By any other length Spark makes a timestamp of it, which is refused.
    if right.type == LENGTH and pa.types.is_date(left.type) and _is_whole_days(node.expression):
        sql = f"({left.sql} {sign} CAST({right.sql} // {_DAY} AS INTEGER))"
        return DuckdbExpression(unless_null(left, right, sql), pa.date32(), may_raise=True)

    # Between two times, or two dates, lies a length.
    if sign == "-" and pa.types.is_timestamp(left.type) and left.type == right.type:
        sql = f"(epoch_us({left.sql}) - epoch_us({right.sql}))"
        return DuckdbExpression(unless_null(left, right, sql), LENGTH, may_raise=True)
    if sign == "-" and pa.types.is_date(left.type) and pa.types.is_date(right.type):
        sql = f"(({left.sql} - {right.sql}) * {_DAY})"
        return DuckdbExpression(unless_null(left, right, sql), LENGTH, may_raise=True)
    if LENGTH in (left.type, right.type):
        raise translator.refusal(
            node, f"moves {spelled(left.type)} by {spelled(right.type)}", "expected: a timestamp and an interval"
        )
    return None


def _months_in(node: exp.Expr) -> int | None:
    """Return the number of months of an interval of months, quarters or years; None for any other expression."""
    if not isinstance(node, exp.Interval) or not isinstance(node.this, exp.Literal):
        return None
    unit = node.args.get("unit")
    months = None if unit is None else _MONTHS.get(unit.name.upper().removesuffix("S"))
    if months is None or not re.fullmatch(r"[+-]?[0-9]+", node.this.this):
        return None
    return int(node.this.this) * months


def _is_whole_days(node: exp.Expr) -> bool:
    """Say whether an interval is written in days, so that a date stays a date."""
    unit = node.args.get("unit") if isinstance(node, exp.Interval) else None
    return unit is not None and unit.name.upper() in ("DAY", "DAYS")


def moved_by_months(value: DuckdbExpression, sign: str, length_node: exp.Expr) -> DuckdbExpression | None:
    """Return a date or a time that is moved by months; a date stays a date.

    Months differ in length, so an interval of months has no translation as a value: it only moves the time before it.

    Args:
        value: The translated left operand of a sum or a difference.
        sign: `+` or `-`.
        length_node: The right operand.

    Returns:
        The translation; None if the left operand is no time, or the right one no interval of months.
    """
    months = _months_in(length_node)
    is_time = pa.types.is_date(value.type) or pa.types.is_timestamp(value.type)
    if months is None or not is_time:
        return None
    sql = f"({value.sql} {sign} to_months({months}))"
    if pa.types.is_date(value.type):
        sql = f"CAST({sql} AS DATE)"
    return DuckdbExpression(sql, value.type, may_raise=True)


def product_of_length(
    translator: Translator, node: exp.Mul, left: DuckdbExpression, right: DuckdbExpression
) -> DuckdbExpression:
    """Translate a length of time multiplied by a number.

    Args:
        translator: The translator of the expression.
        node: The product.
        left: The translated left operand; this one or the other is a length.
        right: The translated right operand.

    Raises:
        QueryError: The other operand is no number, or a decimal of too many digits.
    """
    length = left
    number = right
    if left.type != LENGTH:
        length = right
        number = left
    if not is_number(number.type):
        raise translator.type_refusal(node, left, right)
    # The microseconds are multiplied, and rounded where the number has a fraction.
    if pa.types.is_integer(number.type):
        sql = f"multiply({length.sql}, CAST({number.sql} AS BIGINT))"
    elif pa.types.is_floating(number.type):
        sql = f"CAST(ROUND(CAST({length.sql} AS DOUBLE) * CAST({number.sql} AS DOUBLE)) AS BIGINT)"
    elif number.type.precision <= 19:  # the product of 19 digits and as many fits the 38 digits of a decimal
        sql = f"CAST(ROUND(CAST({length.sql} AS DECIMAL(19,0)) * {number.sql}, 0) AS BIGINT)"
    else:
        raise translator.type_refusal(node, left, right)
    return DuckdbExpression(unless_null(left, right, sql), LENGTH, may_raise=True)
