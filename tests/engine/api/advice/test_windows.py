"""Wrong calls of windows, and of their policies. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    ("stream.window('1 hour')", r"for example, (tumbling\('1 hour'\))", "stream.window(CODE)"),
    ("stream.window('often')", r"for example, (.*)", "stream.window(CODE)"),
    ("stream.windows(day='1 day')", r"for example, (day=.*)", "stream.windows(CODE)"),
    ("stream.windows(tumbling('1 day'))", r"each with a name: (windows\(.*\))", "stream.CODE"),
    ("tumbling('10 minuts')", r"did you mean ('.*')\?", "tumbling(CODE)"),
    ("tumbling(1.5)", r"text such as ('10 minutes')", "tumbling(CODE)"),
    ("tumbling(1.5)", r"or ('1 hour 30 minutes')", "tumbling(CODE)"),
    ("tumbling('2 months')", r"windows of whole months or years are (.*)"),
    ("tumbling('1 year')", r"windows of whole months or years are (.*)"),
    ("tumbling('1.5 months')", r"windows of whole months or years are (.*)"),
    ("events(df, at='t', watermark='1 month')", r"such as ('30 days')", "events(df, at='t', watermark=CODE)"),
    ("session('1 month')", r"such as ('30 days')", "session(CODE)"),
    ("early(every='1 month')", r"such as ('30 days')", "early(every=CODE)"),
    ("correct('1 month')", r"such as ('30 days')", "correct(CODE)"),
    ("window(5)", r"for example (window\('hopping'.*\))"),
    ("window('tumbling', size=10)", r"hopping ones whose hop is their size: (window\(.*\))"),
    ("window('tumbeling', size=10)", r"hopping ones whose hop is their size: (window\(.*\))"),
    ("window('sesion', gap=10)", r"did you mean ('.*')\?", "window(CODE, gap=10)"),
    ("cumulate('10 minutes', '1 hour')", r"the size comes first: write (.*)"),
    ("calendar('monthly')", r"did you mean ('.*')\?", "calendar(CODE)"),
    ("calendar('1 fortnight')", r"as in ('3 months')", "calendar(CODE)"),
    ("calendar('2 hours')", r"for hours use (tumbling)", "CODE('2 hours')"),
    ("calendar('month', start='2024-01-31')", r"one of the days 1 to 28", "calendar('month', start='2024-01-28')"),
    ("calendar('month', start='sunday')", r"a size of weeks", "calendar('week', start='sunday')"),
    ("calendar('month', start='sunday')", r"a date such as ('[-0-9]+')", "calendar('month', start=CODE)"),
    ("calendar('day', start='noon')", r"a time of day such as ('[:0-9]+')", "calendar('day', start=CODE)"),
    ("calendar('week', start='noon')", r"a day of the week such as ('\w+')", "calendar('week', start=CODE)"),
    ("calendar('year', start='noon')", r"a month such as ('\w+')", "calendar('year', start=CODE)"),
    ("calendar('month', '1 day')", r"months, quarters and years", "calendar('quarter', '1 month')"),
    ("calendar('day', '1 month')", r"days and weeks", "calendar('week', '1 day')"),
    ("calendar('day', zone='Europe/Pariss')", r"did you mean ('.*')\?", "calendar('day', zone=CODE)"),
    ("calendar('day', zone='home')", r"a name such as ('Europe/Berlin')", "calendar('day', zone=CODE)"),
    ("landmark('1 hour', since='yesterday')", r"a time such as ('.*')", "landmark('1 hour', since=CODE)"),
    # an evaluator, policies of windows
    ("stream.window(tumbling(10), clip='Full')", r"did you mean ('.*')\?", "windowed_with(clip=CODE)"),
    ("stream.window(tumbling(10), timestamps='aligned')", r"did you mean ('.*')\?", "windowed_with(timestamps=CODE)"),
    ("stream.window(tumbling(10), emit='append')", r"is (emit='final')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='update')", r"(emit='eager')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='update')", r"(emit=early\(every_count\(1\)\))", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='complete')", r"(emit='eager')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), evaluator='slow')", r"there are ('auto')", "windowed_with(evaluator=CODE)"),
    # row windows
    ("last(marker('a = 1'))", r"use batch\(marker\(\.\.\.\)\)", "batch(marker('a = 1'))"),
    ("last(10).trigger(marker('a = 1'))", r"use batch\(marker\(\.\.\.\)\)", "batch(marker('a = 1'))"),
    ("last(on_row('a = 1'))", r"write (last\(10\)\.trigger\(.*?\)\)), with"),
    ("last(1.5)", r"a length of time such as ('10 minutes')", "last(CODE)"),
    ("batch(on_row('a = 1'))", r"write (between\(.*?\)) for"),
    ("batch('1 hour', within='1 minute')", "leave one of them out", "batch('1 hour')"),
    ("batch('1 hour', within='1 minute')", "leave one of them out", "batch(100, within='1 minute')"),
    ("batch(3).partition('a').with_empty()", r"leave out \.with_empty\(\)", "batch(3).partition('a')"),
    ("batch(3).with_empty()", r"leave out \.with_empty\(\)", "batch(3)"),
    ("batch(3).with_empty()", "or flush by time", "batch('1 hour').with_empty()"),
    ("batch(3).with_empty()", "or by a marker", "batch(marker('a = 1')).with_empty()"),
    ("between()", r"or both: (between\(.*\))"),
    ("between(closes='a = 1', closing_row=False)", r"write (batch\(marker\(.*?\)\))"),
    ("between(closes='a = 1', reopens=True)", "leave out reopens=True", "between(closes='a = 1')"),
    ("between('a = 1').with_empty()", r"leave out \.with_empty\(\)", "between('a = 1')"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
