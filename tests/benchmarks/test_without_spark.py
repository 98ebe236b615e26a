"""The benchmarks of queries without Spark: libraries give the right answers, scripts are measured from their start."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from benchmarks import __main__ as program
from benchmarks.case import Case
from benchmarks.cases import WITHOUT_SPARK
from benchmarks.check import check_answers
from benchmarks.data import Data, write_data
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.kinds import from_data, to_data
from benchmarks.questions.lasting import LastingHops
from benchmarks.questions.question import ANSWERS, Question
from benchmarks.questions.sessions import Session
from benchmarks.questions.snapshots import Snapshot
from benchmarks.systems.programs.table_task import TableLibrary, rows_of
from benchmarks.systems.programs.with_duckdb import Duckdb
from benchmarks.systems.programs.with_muntin import Muntin
from benchmarks.systems.programs.with_pandas import Pandas
from benchmarks.systems.programs.with_polars import Polars

MINUTES = Hopping(60, 60)
SPREADS = Hopping(60, 60, "spread")
OVERLAPPING = Hopping(600, 10)
THREE: Final[tuple[type[TableLibrary], ...]] = (Muntin, Polars, Duckdb)
ALL: Final[tuple[type[TableLibrary], ...]] = (*THREE, Pandas)

WAYS: list[tuple[type[TableLibrary], Question, str]] = [
    *product(ALL, [MINUTES], ("average", "function", "combine")),
    *((library, SPREADS, "class") for library in ALL),
    *((library, Session(20), "average") for library in THREE),
    (Polars, MINUTES, "dynamic"),
    (Muntin, OVERLAPPING, "average"),
    (Polars, OVERLAPPING, "dynamic"),
    (Duckdb, OVERLAPPING, "average"),
    (Muntin, Snapshot(), "average"),
    (Muntin, Snapshot(is_revised=True), "average"),
    (Muntin, LastingHops(600, 60, is_revised=True), "average"),
]


def answers_by(library: TableLibrary, rows: pa.Table, question: Question, way: str) -> pa.Table:
    """Return the answers of a library in this process."""
    answers = library.answers(library.frame(rows, question), question, way)
    return library.arrow(answers).select(ANSWERS.names).cast(ANSWERS)


@pytest.mark.parametrize(("library", "question", "way"), WAYS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_library_is_right_about_a_table(
    library: type[TableLibrary], question: Question, way: str, tmp_path: Path
) -> None:
    files = write_data(Data(20, 2_000, 2), tmp_path)
    rows = rows_of([str(path) for path in files.paths])
    answers = answers_by(library(), rows, question, way)
    assert check_answers(library.__name__, question, files, answers) >= 20


QUESTIONS = list(dict.fromkeys(question for _library, question, _way in WAYS))


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_question_is_read_back_by_the_program_that_answers_it(question: Question) -> None:
    assert from_data(json.loads(json.dumps(to_data(question)))) == question


@pytest.mark.parametrize(
    ("question", "ways"),
    [
        (OVERLAPPING, {Muntin: "average", Polars: "dynamic", Duckdb: "average"}),
        (Session(20), {Muntin: "average", Polars: "average", Duckdb: "average"}),
    ],
    ids=["overlapping", "session"],
)
def test_all_libraries_answer_as_many_windows(
    question: Question, ways: dict[type[TableLibrary], str], tmp_path: Path
) -> None:
    """Also of those that are not complete when the rows end, which the check leaves out."""
    rows = rows_of([str(path) for path in write_data(Data(20, 2_000, 2), tmp_path).paths])
    counts = {len(answers_by(library(), rows, question, way)) for library, way in ways.items()}
    assert len(counts) == 1


def test_scripts_and_programs_are_measured_in_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "end_session", lambda: None)  # the session of this process is that of other tests
    arguments = ["--rows", "5_000", "--repeats", "1", "--folder", str(tmp_path)]
    arguments += ["--only=local-start", "--only=local-workers"]
    for system in ("muntin local script", "duckdb script", "muntin local, 1 worker"):
        arguments.append(f"--systems={system}")
    assert program.main(arguments) == 0

    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    medians = {}
    for case in results["cases"]:
        for trial in case["trials"]:
            assert trial["windows_checked"] >= 20
            medians[trial["system"]] = trial["medians"]
    assert set(medians) == {"muntin local script", "duckdb script", "muntin local, 1 worker"}
    script = medians["duckdb script"]
    assert script["cpu_seconds"] > 0
    assert 10e6 < script["python_bytes"] < 10e9
    assert medians["muntin local, 1 worker"]["rows_per_second"] > 0


@pytest.mark.parametrize("case", WITHOUT_SPARK, ids=lambda case: case.name)
def test_systems_that_a_case_compares_are_among_its_systems(case: Case) -> None:
    names = {system.name for system in case.systems}
    for floor in case.floors:
        compared_systems = {floor.subject, getattr(floor, "other", floor.subject)}  # type: ignore[attr-defined]
        assert compared_systems <= names
    assert set(case.files_read) <= names
