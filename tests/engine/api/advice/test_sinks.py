"""Wrong sinks of `write`. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    ("query.write(checkpoint='c')", r"name one for any of (results)", "query.write(checkpoint='c', CODE='r')"),
    ("query.write(checkpoint='c', results=5)", "a path for Parquet files", "query.write(checkpoint='c', results='r')"),
    (
        "query.write(checkpoint='c', results=5)",
        "a function of a DataFrame and the\n  number",
        "query.write(checkpoint='c', results=lambda batch, batch_id: None)",
    ),
    (
        "query.write(checkpoint='c', results=lambda batch: None)",
        r"a function \((batch, batch_id)\)",
        "query.write(checkpoint='c', results=lambda CODE: None)",
    ),
    ("query.write(checkpoint='', results='r')", "one of its own", "query.write(checkpoint='c', results='r')"),
    (
        "query.write(checkpoint='c', results='sqlite:f.db?table=t', late_rows='sqlite:f.db?table=t')",
        "give each one of its own",
        "query.write(checkpoint='c', results='r', late_rows='l')",
    ),
    (
        "query.write(checkpoint='c', results='r', late_rows='r/l')",
        "give each a folder of its own",
        "query.write(checkpoint='c', results='r', late_rows='l')",
    ),
    (
        "query.write(checkpoint='c', results='r', every='1 minute', available_now=True)",
        "give one of them",
        "query.write(checkpoint='c', results='r', every='1 minute')",
    ),
    (
        "query.write(checkpoint='c', results='r', every='-1 second')",
        r"for example, (every='10 seconds')",
        "query.write(checkpoint='c', results='r', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='~/r')",
        r"(os\.path\.expanduser\('~/r'\))",
        "query.write(checkpoint='c', results=CODE)",
    ),
    (
        "query.write(checkpoint='c', results='delta')",
        r"write (results='\./delta')",
        "query.write(checkpoint='c', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='delta')",
        r"a function \((batch, batch_id)\)",
        "query.write(checkpoint='c', results=lambda CODE: None)",
    ),
    ("ChangelogTable('http://host/t')", r"a path such as ('results')", "ChangelogTable(CODE)"),
    ("ChangelogTable('http://host/t')", r"or ('file:/data/results')", "ChangelogTable(CODE)"),
    (
        "query.write(checkpoint='c', results='dleta:t')",
        "did you mean 'delta:'",
        "query.write(checkpoint='c', results='r')",
    ),
    ("ChangelogTable('t', key=5)", r"as in (key='station')", "ChangelogTable('t', CODE)"),
    (
        "query.write(checkpoint='c', results=ChangelogTable('t'))",
        "give a path alone",
        "query.write(checkpoint='c', results='t')",
    ),
    (
        "query.write(checkpoint='c', results=ChangelogTable('t'))",
        r"or ('eager')",
        "windowed_with(emit=CODE).aggregate(n=count).write(checkpoint='c', results=ChangelogTable('t'))",
    ),
    (
        "keyed.window(hours, emit='eager').aggregate(n=count)"
        ".write(checkpoint='c', results=ChangelogTable('t', key='window'))",
        "leave key= out",
        "keyed.window(hours, emit='eager').aggregate(n=count).write(checkpoint='c', results=ChangelogTable('t'))",
    ),
    ("IcebergTable('hours')", r"as in ('bikes\.hours')", "IcebergTable(CODE)"),
    (
        "query.write(checkpoint='c', results='kafka://host')",
        r"expected (kafka://host:)port(/topic)",
        "query.write(checkpoint='c', results='kafka://host:9092/topic')",
    ),
    (
        "query.write(checkpoint='c', results='sqlite:')",
        r"or (sqlite:path/of/file\.db\?table=name)",
        "query.write(checkpoint='c', results='CODE'.replace('path/of/', ''))",
    ),
    # recordings
    (
        "hours_of_sensors.write(checkpoint='c', results='r', record=Recorder('f', keys='a'))",
        r"a list of keys, (keys=\['a'\])",
        "hours_of_sensors.write(checkpoint='c', results='r', record=Recorder('f', CODE))",
    ),
    (
        "hours_of_sensors.write(checkpoint='c', results='r', record=Recorder('f', keys=[('a', 'b')]))",
        "a tuple with a value for each key column",
        "hours_of_sensors.write(checkpoint='c', results='r', record=Recorder('f', keys=[('a',)]))",
    ),
    (
        "query.write(checkpoint='c', results='r', record=Recorder('f', keys=['a']))",
        "leave keys= out",
        "query.write(checkpoint='c', results='r', record=Recorder('f'))",
    ),
    (
        "query.write(checkpoint='c', results='r', record=Recorder('f', most_bytes='much'))",
        "such as ('500 MB'), or a number",
        "query.write(checkpoint='c', results='r', record=Recorder('f', most_bytes=CODE))",
    ),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
