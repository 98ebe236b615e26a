"""Each place that raises an error with advice has a wrong call that leads there, or an excuse."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import muntin
import muntin_engine
from tests.engine.api.advice import (
    test_events,
    test_joins,
    test_module_needs,
    test_modules,
    test_other_calls,
    test_queries,
    test_sinks,
    test_tables,
    test_triggers,
    test_windows,
)
from tests.engine.api.advice.following import Cases, refusal
from tests.engine.api.advice.planning import Names

ALL_CASES: Final[tuple[Cases, ...]] = (
    test_windows.CASES,
    test_triggers.CASES,
    test_events.CASES,
    test_joins.CASES,
    test_modules.CASES,
    test_queries.CASES,
    test_other_calls.CASES,
    test_module_needs.CASES,
    test_sinks.CASES,
    test_tables.CASES,
)

_ROOMS: Final = (
    "sdk/",
    "engine/api/",
    "engine/plan/",
    "engine/backends/planning/",
    "engine/backends/spark/",
    "engine/backends/local/",
    "engine/sinks/",
)
"""The parts of the packages whose errors are looked at."""

_AUTHOR: Final = "it speaks to the author of a module, whose class is wrong; see tests/sdk/modules/test_slips.py"
_RESULT: Final = "it speaks to the author of a module, which returned something that it may not"
_PLUGIN: Final = "it speaks to the author of a plugin, or to who installed it"
_LAWS: Final = "laws and scripts test a module, and make no query"
_TEXT: Final = "a program wrote the text of the query, not a person"
_STATE: Final = "it is of the files of a checkpoint or of sinks, which no call makes right"
_SESSION: Final = "it is of the session, or of a machine"
_FILES: Final = "it is of a file or a table that cannot be read, which no call makes right"
_PLAIN_SQL: Final = "it speaks of a query in SQL over tables; see tests/engine/backends/local/plain_sql"
_JOB: Final = "it speaks of a stream of a job under test, which its fixture feeds; see tests/engine/testing"
_SCHEMA: Final = "it speaks of schema=; see test_declared_schema.py, test_declared_frame.py and test_declared_frames.py"
_UNREACHED: Final = "another check refuses the same before"
EXCUSED: Final = {
    "sdk/testing/": _LAWS,
    "sdk/catalog/catalog.py": _PLUGIN,
    "sdk/changes.py": _LAWS,
    "sdk/columnar/": _RESULT,
    "sdk/schemas/components.py": _AUTHOR,
    "sdk/triggers/emission.py: define merge(self, states, window)": _AUTHOR,
    "sdk/modules/aggregate.py": _RESULT,
    "sdk/definitions/attributes.py": _AUTHOR,
    "sdk/modules/columnar_aggregate.py": _AUTHOR,
    "sdk/modules/declared_types.py": _AUTHOR,
    "sdk/modules/function.py": _AUTHOR,
    "sdk/definitions/methods.py": _AUTHOR,
    "sdk/modules/module.py": _AUTHOR,
    "sdk/query_checks.py: before its window": _RESULT,
    "sdk/query_checks.py: before its cause": _RESULT,
    "sdk/query_checks.py: from next_time": _RESULT,
    "sdk/query_checks.py: over windows, and the query has none": _UNREACHED,
    "sdk/rows/automaton.py": _AUTHOR,
    "sdk/schemas/annotations.py: tuple[int, ...]": _UNREACHED,
    "sdk/schemas/annotations.py: holds itself": _AUTHOR,
    "sdk/schemas/annotations.py: cannot be read": _AUTHOR,
    "sdk/triggers/description.py": _AUTHOR,
    "sdk/triggers/trigger.py": _AUTHOR,
    "sdk/windows/scheduled.py": _AUTHOR,
    "sdk/windows/specification.py: frozen dataclass": _AUTHOR,
    "sdk/windows/specification.py: set both": _AUTHOR,
    "sdk/windows/specification.py: set the class attribute": _AUTHOR,
    "sdk/windows/wall_clock.py: time zone database": _SESSION,
    "engine/api/shipping.py": _SESSION,
    "engine/api/sql_query.py": "it speaks of a text of SQL, and says how Spark runs it",
    "engine/api/text/": _TEXT,
    "engine/plan/query_checks.py: is called when the watermark has passed an event": "apply() takes no emit",
    "engine/plan/input_binding.py: the result type of": _AUTHOR,
    "engine/plan/input_checks.py: needs a name of its own": _UNREACHED,
    "engine/plan/input_checks.py: cast them to the same type": _UNREACHED,
    "engine/plan/join_plan.py": _RESULT,
    "engine/plan/arguments_as_text.py": _TEXT,
    "engine/plan/plan_as_data.py": _TEXT,
    "engine/plan/query_as_text.py": _TEXT,
    "engine/plan/text_places.py": _TEXT,
    "engine/plan/values_as_data.py": _TEXT,
    "engine/plan/planner.py: takes_inputs": "no call makes a query of so many inputs",
    "engine/backends/planning/declared_columns.py": _SCHEMA,
    "engine/backends/local/inputs/declared_schema.py": _SCHEMA,
    "engine/backends/spark/inputs/declared_frames.py": _SCHEMA,
    "engine/backends/spark/session/": _SESSION,
    "engine/backends/spark/delivery/": _SESSION,
    "engine/backends/spark/checkpoints/checkpoint.py": _STATE,
    "engine/backends/spark/foreach_batch/closing.py: Connect": _SESSION,
    "engine/backends/spark/foreach_batch/closing.py: cannot be closed": _STATE,
    "engine/backends/spark/foreach_batch/recorded_queries.py: share": "no call records a pass over another query",
    "engine/backends/spark/foreach_batch/recorded_queries.py: Connect": _SESSION,
    "engine/backends/spark/checkpoints/sink_checks.py": _STATE,
    "engine/backends/spark/checkpoints/state_table.py": _STATE,
    "engine/backends/spark/checkpoints/stored_state.py": _STATE,
    "engine/backends/spark/foreach_batch/write.py: refuses to set": _SESSION,
    "engine/backends/spark/foreach_batch/write.py: Connect": _SESSION,
    "engine/backends/local/plain_sql/": _PLAIN_SQL,
    "engine/backends/local/expressions/aggregates.py": _PLAIN_SQL,
    "engine/backends/local/expressions/called_function.py": _RESULT,
    "engine/backends/local/expressions/nested.py: field without a name": _UNREACHED,
    "engine/backends/local/expressions/times.py: timestampadd(HOUR, 1, t)": _UNREACHED,
    "engine/backends/local/frames/files.py": _FILES,
    "engine/backends/local/frames/arrow_data.py": _FILES,
    "engine/backends/local/frames/local_frame.py": _UNREACHED,
    "engine/backends/local/frames/local_stream.py": _JOB,
    "engine/backends/local/inputs/time_marks.py": _JOB,
    "engine/backends/local/inputs/column_lookup.py: is read as text": _UNREACHED,
    "engine/backends/local/local_backend.py: write()": _JOB,
    "engine/backends/local/runs/recorded_run.py": _STATE,
    "engine/backends/local/streams/": _JOB,
    "engine/sinks/batch_folders.py": _STATE,
    "engine/sinks/changelog_table.py: no micro-batch yet": _STATE,
    "engine/sinks/checkpoint_copy.py": _STATE,
    "engine/sinks/database_table.py": _STATE,
    "engine/sinks/databases.py: PostgreSQL": _SESSION,
    "engine/sinks/databases.py: cannot be": _SESSION,
    "engine/sinks/kafka_topic.py: messages were acknowledged": _SESSION,
    "engine/sinks/kafka_topic.py: does not take the option": "the option is named, and is left out",
    "engine/sinks/owned_folder.py: gone": _STATE,
    "engine/sinks/owned_folder.py: another query": _STATE,
    "engine/sinks/owned_folder.py: is a file": _STATE,
    "engine/sinks/owned_folder.py: no query wrote": _STATE,
    "engine/sinks/parquet_folder.py: adds a column": "a micro-batch finds it",
    "engine/sinks/parquet_folder.py: on this machine": _STATE,
    "engine/sinks/parquet_folder.py: no micro-batch yet": _STATE,
    "engine/sinks/recordings/recording_writer.py": _STATE,
    "engine/sinks/stored_path.py": _SESSION,
    "engine/sinks/table_sink.py": "it speaks to the author of a sink",
    "engine/sinks/table_versions.py": _STATE,
}
"""Places that have no case, with the reason: files, folders, or words of one message after its file."""

_PACKAGES: Final = {
    "sdk": Path(inspect.getfile(muntin)).parent,
    "engine": Path(inspect.getfile(muntin_engine)).parent,
}
_ADVISES: Final = re.compile(
    r"\n|\b(write|use|give|expected|leave|for example|did you mean|such as|say|call|cast|names?|named)\b"
)
"""Words of messages that say what to write instead."""


_PART: Final = re.compile(r"\{[^{}]*\}")
"""The name of a part in the template of a message."""


class Site(NamedTuple):
    """A statement that raises an error with advice.

    Attributes:
        file: The file, as `engine/api/events.py`.
        first_line: The first line of the statement.
        last_line: Its last line.
        text: The words of its message.
    """

    file: str
    first_line: int
    last_line: int
    text: str

    def is_excused_by(self, excuse: str) -> bool:
        place, _, words = excuse.partition(": ")
        return self.file.startswith(place) and words in self.text

    def is_passed_by(self, lines: set[tuple[str, int]]) -> bool:
        """Say whether an error that passed through these lines, of a file each, was raised by the statement."""
        return any((self.file, line) in lines for line in range(self.first_line, self.last_line + 1))


def _sites() -> list[Site]:
    """Return all statements of the packages that raise an error with advice."""
    sites: list[Site] = []
    for room, folder in _PACKAGES.items():
        for path in folder.rglob("*.py"):
            file = f"{room}/{path.relative_to(folder)}"
            if file.startswith(_ROOMS):
                sites += _sites_of_file(file, path.read_text(encoding="utf-8"))
    return sites


def _sites_of_file(file: str, source: str) -> list[Site]:
    sites: list[Site] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            text = _text_of(node.exc)
            if _ADVISES.search(text):
                sites.append(Site(file, node.lineno, node.end_lineno or node.lineno, text))
    return sites


def _text_of(node: ast.expr) -> str:
    """Return the words of the message that an expression makes, without the names of its parts."""
    texts: list[str] = []
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            texts.append(_PART.sub("", part.value))
    return " ".join(texts)


def _lines_passed_by(error: BaseException) -> Iterator[tuple[str, int]]:
    """Yield the lines of the packages, each with its file, that an error and its causes passed through."""
    cause: BaseException | None = error
    while cause is not None:
        traceback = cause.__traceback__
        while traceback is not None:
            path = Path(traceback.tb_frame.f_code.co_filename)
            for room, folder in _PACKAGES.items():
                if path.is_relative_to(folder):
                    yield f"{room}/{path.relative_to(folder)}", traceback.tb_lineno
            traceback = traceback.tb_next
        cause = cause.__cause__ or cause.__context__


def test_each_place_that_gives_advice_has_a_case_or_an_excuse(names: Names) -> None:
    wrong_calls = {wrong for wrong, *_ in chain.from_iterable(ALL_CASES)}
    lines: set[tuple[str, int]] = set()
    for wrong in wrong_calls:
        lines.update(_lines_passed_by(refusal(wrong, names).error))

    sites_without_case = [site for site in _sites() if not site.is_passed_by(lines)]
    unexcused_sites: list[Site] = []
    excuses_in_use: set[str] = set()
    for site in sites_without_case:
        excuses = [excuse for excuse in EXCUSED if site.is_excused_by(excuse)]
        excuses_in_use.update(excuses)
        if not excuses:
            unexcused_sites.append(site)
    assert unexcused_sites == []
    assert EXCUSED.keys() - excuses_in_use == set(), "these excuse nothing"
