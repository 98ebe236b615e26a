"""Wrong calls over tables in this process. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Case, Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names


def expression(wrong: str, pattern: str, right: str) -> Case:
    """Return the case of an expression, as a condition on rows."""
    return f'rows.where("({wrong}) IS NULL").window(hours)', pattern, f'rows.where("({right}) IS NULL").window(hours)'


_COLUMNS_FIRST: Final = r"compute the column before events\(\)"

EXPRESSIONS: Final[Cases] = (
    expression("stats.clamp(d, 0D, 1D)", r"write (stats_clamp\()\.\.\.\)", "CODEd, 0D, 1D)"),
    expression("stats_clamp(named_struct('a', d), 0D, 1D)", "give it the fields", "stats_clamp(d, 0D, 1D)"),
    expression("1e400", "at most 1.8e308", "1e308"),
    expression("1" * 40, "at most 38", "1" * 38),
    expression("hour(s)", r"such as (CAST\(s AS TIMESTAMP\))", "hour(CODE)"),
    expression("year(s)", "expected: a date", "year(day)"),
    expression("unix_seconds(c)", r"(cast) it to timestamp", "unix_seconds(CODE(c AS timestamp))"),
    expression("date_add(day, b)", r"(cast) it to int", "date_add(day, CODE(b AS int))"),
    expression("to_date(s, 'yyyy')", "expected: one of (yyyy-MM-dd)", "to_date(s, 'CODE')"),
    expression("timestampdiff(MONTH, t, t)", "expected: .* (HOUR),", "timestampdiff(CODE, t, t)"),
    expression("datediff(SECOND, day, day)", r"write (timestampdiff\(HOUR, )a, b\)", "CODEt, t)"),
    expression("timestampadd(decade, 1, t)", "expected: .* (HOUR),", "timestampadd(CODE, 1, t)"),
    expression("extract(epoch FROM t)", "expected: one of (\\w+)", "extract(CODE FROM t)"),
    expression("day + INTERVAL '1' HOUR", "expected: a timestamp and an interval", "t + INTERVAL '1' HOUR"),
    expression("quarter(k)", "expected: a date", "quarter(day)"),
    expression("trunc(day, 'decade')", "expected: (.*?),", "trunc(day, 'CODE')"),
    expression("date_trunc('decade', t)", "expected: (.*?),", "date_trunc('CODE', t)"),
    expression("s LIKE 'a!%' ESCAPE '!!'", r"write (LIKE 'a!%' ESCAPE '!')", "s CODE"),
    expression("s LIKE s", r"write (LIKE 'north%')", "s CODE"),
    expression("s RLIKE '(?i)a'", "write one of letters", "s RLIKE 'a'"),
    expression("split(s, '[a]')", r"write (SPLIT\(s, ','\))", "CODE"),
    expression("sha2(s, 512)", r"write (SHA2\(s, 256\))", "CODE"),
    expression("d AND k", "such as (.* > 2)", "i > 2 AND k"),
    expression("m / m", r"(cast) one to double", "CODE(m AS double) / m"),
    expression("m % m", r"(cast) both to double", "CODE(m AS double) % CODE(m AS double)"),
    expression("m * m", "(cast) its parts", "CODE(m AS decimal(9, 2)) * CODE(m AS decimal(9, 2))"),
    expression("k IS (1 = 1)", "write x( = true)", "kCODE"),
    expression("t > '2024-05-01T08:00:00+02:00x'", "write it as '(2024-05-01)'", "t > 'CODE'"),
    expression("c > '2024-05-01T08:00:00Z'", "leave the zone out", "c > '2024-05-01T08:00:00'"),
    expression("try_cast(1 / i AS int)", "cast a column", "try_cast(i AS int)"),
    expression("CAST(d AS array<int>)", "expected: a number", "CAST(d AS int)"),
    expression("CAST(d AS decimal(39, 2))", r"such as (decimal\(38, 2\))", "CAST(d AS CODE)"),
    expression("CAST(s AS string COLLATE UNICODE_CI) = 'x'", r"(lower)\(\.\.\.\) of both", "CODE(s) = CODE('x')"),
    expression("round(f, 1)", r"write ROUND\(x, 2\), and (cast) x to double", "round(CODE(f AS double), 1)"),
    expression("d.lat", "name a column", "p.lat"),
    expression("sort_array(xs)", r"write (array_sort\(xs\))", "CODE"),
    expression("array()", "write a column", "array(i)"),
    expression("get(xs)", "expected: 2", "get(xs, 0)"),
    expression("soundex(s)", _COLUMNS_FIRST, "upper(s)"),
)

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    *EXPRESSIONS,
    ("tens.write(checkpoint='c', results='r')", "write what results", "tens"),
    ("rows.where(3).window(hours)", r"such as ('km > 2')", "rows.where('d > 2').window(hours)"),
    ("union(a=rows, b=events(other_table, at='t')).window(hours)", "cast or rename", "rows.window(hours)"),
    (
        "rows.with_columns(x='d', X='d').window(hours)",
        "give each another name",
        "rows.with_columns(x='d', y='d').window(hours)",
    ),
    ("events(alike_table, at='t', key='s').window(hours)", "rename all but one", "rows.window(hours)"),
    ("tens.results(workers=0)", r"such as (workers=4)", "tens"),
    ("tens.where('n + 1')", r"such as ('n > 2')", "tens.where(CODE)"),
    ("rows.where(F.col('d') > 2).window(hours)", r"such as ('km > 2')", "rows.where('d > 2').window(hours)"),
    (
        "rows.window(hours).aggregate(m=average(F.col('d')))",
        r"for example ('km / 1.6')",
        "rows.window(hours).aggregate(m=average('d / 1.6'))",
    ),
    ("events(table_of_arrow, at='nope').window(hours)", "it has", "events(table_of_arrow, at='t').window(hours)"),
    ("rows.select('d + 1')", "give it a name", "rows.select(x='d + 1').window(hours)"),
    ("functions(added_to_dates)", "such as my.distance", "rows.window(hours)"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
