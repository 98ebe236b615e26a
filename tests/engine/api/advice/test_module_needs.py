"""Windows that a module cannot run over, and windows by name. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

_KINDS: Final = (
    "CalendarWindows",
    "CountWindows",
    "CumulateWindows",
    "GlobalWindows",
    "HoppingWindows",
    "LandmarkWindows",
    "SnapshotWindows",
    "TrailingWindows",
)
_ROWS: Final = ("LastRows", "RowBatches", "RowsBetween")
_NAMES: Final = ("hopping", "snapshot", "count", "session", "calendar", "cumulate", "landmark", "global", "trailing")
CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    # windows by name
    *(
        (f"window({name!r}, wrong=5)", r"(?m)write for example (window\(.*?\))(?:, or|$)", "CODE")
        for name in (*_NAMES, "last", "batch", "between")
    ),
    ("window('sliding', size=10)", r"by a hop are (window\('hopping'.*?\)), and"),
    ("window('sliding', size=10)", r"at each event (window\('trailing'.*?\))"),
    ("window('rows', size=10)", r"of rows are (window\('last'.*?\)), "),
    ("window('rows', size=10)", r", (window\('batch'.*?\)) and"),
    ("window('daily')", r"days are (window\('calendar'.*?\)),"),
    ("window('global_windows')", r"they are (window\('global'\))"),
    # windows that a module needs
    *(
        (
            f"stream.window(session('1 hour')).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"stream.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in _KINDS
    ),
    *(
        (
            f"in_order.window(session('1 hour')).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"in_order.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in _ROWS
    ),
    (
        "stream.window(hours).aggregate(m=module(needing(SessionWindows), 'km'))",
        r"write, for example: (.*)",
        "stream.window(CODE).aggregate(m=module(needing(SessionWindows), 'km'))",
    ),
    *(
        (
            f"numbers.window(session(5)).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"numbers.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in ("CountWindows", "CumulateWindows", "GlobalWindows", "HoppingWindows", "LandmarkWindows")
    ),
    *(
        (
            f"{stream}.window({windows}).aggregate(m=module(needing(reach={reach}), 'km'))",
            r"write: (.*)",
            f"{stream}.window(CODE).aggregate(m=module(needing(reach={reach}), 'km'))",
        )
        for stream, windows, reach in (
            ("stream", "tumbling('1 hour')", 1_000_001),
            ("stream", "hopping('1 hour', '10 minutes')", 7_000_000_000),
            ("stream", "hopping('1 hour', '10 minutes', reach='1 second')", 7_000_000_000),
            ("stream", "calendar('day', zone='Europe/Berlin')", 7_000_000),
            ("stream", "session('1 hour')", 7_000_000_000),
            ("stream", "cumulate('1 day', '1 hour')", 7_000_000),
            ("numbers", "tumbling(10)", 25),
            ("numbers", "session(10)", 25),
            ("stream_with(at='ms', unit='ms')", "hours", 7_000),
            ("stream_with(at='ms', unit='ms')", "session('1 hour')", 7_000_000),
        )
    ),
    (
        "events(df, at='units', watermark=5).window(tumbling(10)).aggregate(m=module(needing(reach=250), 'km'))",
        r"a reach of at least (.*)",
        "events(df, at='units', watermark=5).window(tumbling(10, reach=CODE))"
        ".aggregate(m=module(needing(reach=250), 'km'))",
    ),
    (
        "events(df.selectExpr('*', 'km AS KM'), at='t', watermark='1 hour').window(hours)"
        ".aggregate(m=module(Spread, 'km'))",
        r"for example with df\.(toDF\()\.\.\.\)",
        "events(df.select('t', 'km', F.col('km').alias('KM')).CODE't', 'km', 'miles'), at='t', watermark='1 hour')"
        ".window(hours).aggregate(m=module(Spread, 'km'))",
    ),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
