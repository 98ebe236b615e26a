"""`python -m benchmarks.publish`: write the figures of a run into the pages that show them.

A table of the page with the measurements is written anew if the run measured all of it, and stays as it is otherwise:
so all figures of a table are of one run. Each run that measured the ratios which differ most from run to run adds a row
to the table of runs, and the ranges in the texts of the first pages are those of that table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
MEASUREMENTS: Final = _ROOT / "docs/explanation/performance.md"
README: Final = _ROOT / "README.md"
WHY_NOT_GROUPBY: Final = _ROOT / "docs/explanation/why-not-groupby.md"

_RUNS: Final = "run"
"""The first heading of the table of runs."""


class NotMeasuredError(KeyError):
    """A run has no figure for a case and a system."""


class Medians:
    """The medians of a run, from its `results.json`, of the cases that had the full number of rows."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.when = datetime.fromisoformat(results["when"])
        self._medians: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for case in results["cases"]:
            if not case["is_full_size"]:
                continue
            for trial in case["trials"]:
                if trial["medians"] is not None:
                    self._medians.setdefault((case["name"], trial["system"]), []).append(trial["medians"])

    def of(self, case: str, system: str, question: int = 0) -> Mapping[str, Any]:
        """Return the medians of a system.

        Raises:
            NotMeasuredError: There are none.
        """
        try:
            return self._medians[case, system][question]
        except LookupError:
            raise NotMeasuredError(f"{system} in {case}") from None

    def rate(self, case: str, system: str, question: int = 0) -> str:
        """Return input rows per second with three digits that count."""
        rate = self.of(case, system, question)["rows_per_second"]
        return f"{float(f'{rate:.3g}'):,.0f}"

    def times_rate(self, case: str, system: str, other: str) -> float:
        """Return how many times the rows per second of another system one has."""
        ratio: float = self.of(case, system)["rows_per_second"] / self.of(case, other)["rows_per_second"]
        return ratio

    def times_warm(self, case: str, system: str, other: str) -> float:
        """Return how many times as fast as another system one is in a warm micro-batch."""
        ratio: float = self.of(case, other)["warm_batch"] / self.of(case, system)["warm_batch"]
        return ratio


@dataclass(frozen=True)
class PublishedTable:
    """A table of the page with the measurements.

    Attributes:
        corner: Its first heading, by which it is found.
        rows: Returns its rows, or raises `NotMeasuredError`.
    """

    corner: str
    rows: Callable[[Medians], list[list[str]]]


def _by_system(medians: Medians) -> list[list[str]]:
    """Return a row per streaming system: its rates for tumbling windows, sessions and hops."""
    systems = {
        "muntin columnar": "Muntin, built in",
        "muntin sliced": "Muntin, Python class",
        "spark window": "Spark, built in",
        "pathway": "Pathway, built in",
        "bytewax": "Bytewax, Python",
    }
    rows = []
    for system, words in systems.items():
        cells = [medians.rate("tumbling-60", system)]
        for case in ("session-20", "session-20-zipf", "hopping-600-10"):
            try:
                cells.append(medians.rate(case, system))
            except NotMeasuredError:
                cells.append("")  # a system is in the table if it computed tumbling windows
        rows.append([words, *cells])
    return rows


def _beside_spark(medians: Medians) -> list[list[str]]:
    """Return a row per case: the rates of Muntin and of Spark's `window()`, and their ratio end to end and warm."""
    cases = {
        "hopping-600-10": "10,000 keys, hopping 600 s / 10 s",
        "hopping-600-60": "10,000 keys, hopping 600 s / 60 s",
        "tumbling-60": "10,000 keys, tumbling 60 s",
        "tumbling-60-many-keys": "100,000 keys, tumbling 60 s",
        "max-hopping-600-10": "maximum, 10,000 keys, hopping 600 s / 10 s",
    }
    rows = []
    for case, words in cases.items():
        pair = (case, "muntin columnar", "spark window")
        rates = [medians.rate(case, "muntin columnar"), medians.rate(case, "spark window")]
        rows.append([words, *rates, _times(medians.times_rate(*pair)), _times(medians.times_warm(*pair))])
    return rows


def _beside_by_hand(medians: Medians) -> list[list[str]]:
    """Return a row per case: the rates of a Python class and of `transformWithState` by hand, and their ratio."""
    cases = {"tumbling-60": "10,000 keys, tumbling 60 s", "tumbling-60-many-keys": "100,000 keys, tumbling 60 s"}
    rows = []
    for case, words in cases.items():
        rates = [medians.rate(case, "muntin sliced"), medians.rate(case, "transformWithState")]
        rows.append([words, *rates, _times(medians.times_rate(case, "muntin sliced", "transformWithState"))])
    return rows


def _sessions(medians: Medians) -> list[list[str]]:
    """Return a row per case: how many times Spark's rate Muntin has over sessions."""
    cases = {"session-20": "10,000 keys", "session-20-zipf": "10,000 Zipf keys"}
    return [[words, _times(medians.times_rate(case, "muntin sliced", "spark window"))] for case, words in cases.items()]


def _smaller_hops(medians: Medians) -> list[list[str]]:
    """Return one row: the seconds of a warm micro-batch at smaller and smaller hops."""
    seconds = [medians.of("smaller-hops", "muntin columnar", question)["warm_batch"] for question in range(4)]
    return [["seconds per warm batch", *(f"{value:.2f}" for value in seconds)]]


def _state_written(medians: Medians) -> list[list[str]]:
    """Return one row: the state that a warm micro-batch writes for each slice, over longer and longer windows."""
    sizes = [medians.of("state-written", "muntin columnar", question)["written_per_slice"] for question in range(4)]
    return [["KB written per warm batch and slice", *(f"{size / 1000:.0f}" for size in sizes)]]


def _kinds_of_modules(medians: Medians) -> list[list[str]]:
    """Return a row per kind of module: its evaluator, and its rates over streams and over a static table."""
    kinds = (
        ("`stats.average`, with a columnar form", "columnar", "muntin columnar", "muntin static"),
        ("a class with `combine`", "sliced", "muntin sliced", "muntin static, combine"),
        ("a class that has `compute_result` alone", "grouped", "muntin class", "muntin static, class"),
        (
            'a function, `module(np.mean, "value", returns=float)`',
            "grouped",
            "muntin function",
            "muntin static, function",
        ),
        ("Spark's `avg` in `groupBy(window(...))`", "", "spark window", "spark static window"),
    )
    rows = []
    for words, evaluator, stream, table in kinds:
        rates = [medians.rate("tumbling-60", stream), medians.rate("hopping-600-10", stream)]
        rows.append([words, evaluator, *rates, medians.rate("static-60", table)])
    udf = medians.rate("static-60", "pandas_udf")
    rows.append(["a `pandas_udf` in `groupBy(window(...))`", "", "refused", "refused", udf])
    return rows


def _slower(medians: Medians) -> list[list[str]]:
    """Return a row per task in which Muntin is slower than another way, or gains little: the task and by how much."""
    yahoo = ("yahoo", "muntin", "spark sql")
    static = [
        medians.times_rate(f"static-{windows}", "muntin static", "spark static window") for windows in ("60", "600-10")
    ]
    days = [medians.rate("calendar-day", "muntin columnar"), medians.rate("calendar-day", "spark window", 1)]
    one_row = 1 / medians.times_warm("one-row", "muntin columnar", "transformWithState")
    cores = [
        medians.times_warm(case, "muntin columnar, 2 cores", "muntin columnar, 1 core")
        for case in ("cores-60", "cores-600-10")
    ]
    spark_cores = medians.times_warm("cores-60", "spark window, 2 cores", "spark window, 1 core")
    return [
        [
            "the Yahoo streaming benchmark, of Spark's own operators: a filter, a join with a static table, a count",
            f"{medians.times_rate(*yahoo):.2f} times Spark's rate end to end, "
            f"{medians.times_warm(*yahoo):.2f} times per warm batch",
        ],
        [
            "five million rows of a static table, tumbling windows, an average that Spark has",
            f"{static[0]:.2f} times Spark's rate; over 600 s / 10 s {_spell(static[1])} times",
        ],
        ["calendar days of a time zone, beside days of 24 hours in Spark", f"{days[0]} rows/s against {days[1]}"],
        ["a micro-batch of one row", f"{one_row:.2f} times the time of `transformWithState` by hand"],
        [
            "two cores in the place of one",
            f"{min(cores):.2f} to {max(cores):.2f} times the rate per warm batch; "
            f"Spark's `window()`, tumbling, {spark_cores:.1f} times",
        ],
    ]


def _over_tables(medians: Medians) -> list[list[str]]:
    """Return a row per question over a table in memory: the rate of each system, empty for those without an answer."""
    averages = ("muntin local", "polars", "polars, group_by_dynamic", "duckdb", "pandas")
    rows = []
    for words, case in (
        ("average, hopping 600 s / 10 s", "local-600-10"),
        ("average, tumbling 60 s", "local-60"),
        ("average, sessions, gap 20 s", "local-session-20"),
    ):
        rows.append([words, *_rates(medians, case, averages)])
    for words, case, way in (
        ("a class with `combine`, tumbling 60 s", "local-combine", "combine"),
        ("a plain class, `max(...) - min(...)`, tumbling 60 s", "local-class", "class"),
        ("a function, `np.mean`, tumbling 60 s", "local-function", "function"),
    ):
        systems = (f"muntin local, {way}", f"polars, {way}", "", f"duckdb, {way}", f"pandas, {way}")
        rows.append([words, *_rates(medians, case, systems)])
    lifetimes = (
        "average, snapshots of events that last",
        "the same, ends known from revisions",
        "average, hopping 600 s / 60 s, ends known from revisions",
    )
    for question, words in enumerate(lifetimes):
        rows.append([words, medians.rate("local-lifetimes", "muntin local", question), "", "", "", ""])
    return rows


def _rates(medians: Medians, case: str, systems: Sequence[str]) -> list[str]:
    """Return the rows per second of systems; empty for one that cannot answer, other than the first."""
    rates = [medians.rate(case, systems[0])]
    for system in systems[1:]:
        try:
            rates.append(medians.rate(case, system))
        except NotMeasuredError:
            rates.append("")
    return rates


def _from_start(medians: Medians) -> list[list[str]]:
    """Return a row per number of rows: the processor time and the memory of a whole script, system by system."""
    rows = []
    for words, case in (("1,000 rows", "local-start"), ("a million rows", "local-start-million")):
        cells = []
        for system in ("muntin local script", "polars script", "duckdb script"):
            script = medians.of(case, system)
            cells.append(f"{script['cpu_seconds']:.2f} s, {script['python_bytes'] / 1e6:.0f} MB")
        rows.append([words, *cells])
    return rows


def _workers(medians: Medians) -> list[list[str]]:
    """Return one row: the rates of one worker and of two, and their ratio."""
    pair = ("local-workers", "muntin local, 2 workers", "muntin local, 1 worker")
    rates = [medians.rate("local-workers", "muntin local, 1 worker"), medians.rate("local-workers", pair[1])]
    return [["average, tumbling 60 s", *rates, _times(medians.times_rate(*pair))]]


def _fifty_million(medians: Medians) -> list[list[str]]:
    """Return a row for one worker and for two: the time and the memory of a run over 50 million rows."""
    rows = []
    for words, system in (("one worker", "muntin local, 1 worker"), ("two workers", "muntin local, 2 workers")):
        run = medians.of("local-50-million", system)
        rows.append([words, f"{run['seconds']:.0f} s", f"{run['python_bytes'] / 1e6:.0f} MB"])
    return rows


TABLES: Final = (
    PublishedTable("rows/s, average of floats, 10,000 keys", _by_system),
    PublishedTable("average of floats", _beside_spark),
    PublishedTable("average in plain Python", _beside_by_hand),
    PublishedTable("sessions", _sessions),
    PublishedTable("100 keys", _smaller_hops),
    PublishedTable("10,000 keys, a slice is 10 s", _state_written),
    PublishedTable("the average is", _kinds_of_modules),
    PublishedTable("work", _slower),
    PublishedTable("rows/s on one processor", _over_tables),
    PublishedTable("from process start to a printed result", _from_start),
    PublishedTable("rows/s over eight files", _workers),
    PublishedTable("50 million rows", _fifty_million),
)


def row_of_run(medians: Medians, conditions: str) -> list[str]:
    """Return the row of a run in the table of runs, with the ratios that differ most."""
    hopping = ("hopping-600-10", "muntin columnar", "spark window")
    by_hand = ("tumbling-60", "muntin sliced", "transformWithState")
    day = f"{medians.when.day} {medians.when:%B %Y}"
    return [
        f"{day}, {conditions}",
        _times(medians.times_rate(*hopping)),
        _times(medians.times_warm(*hopping)),
        _times(medians.times_rate(*by_hand)),
    ]


def rows_of(page: str, corner: str) -> list[list[str]]:
    """Return the cells of a table of a page, without its headings.

    Raises:
        ValueError: The page has no such table.
    """
    rows: list[list[str]] = []
    for line in _table_of(page, corner)["rows"].splitlines():
        cells = line.strip().strip("|").split("|")
        rows.append([cell.strip() for cell in cells])
    return rows


def with_rows(page: str, corner: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a page with other rows in a table."""
    table = _table_of(page, corner)
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    return page[: table.start("rows")] + "".join(lines) + page[table.end("rows") :]


def _table_of(page: str, corner: str) -> re.Match[str]:
    """Find the table of a page by its first heading; the group `rows` has its lines without the headings.

    Raises:
        ValueError: The page has no such table.
    """
    table = re.search(rf"^\| {re.escape(corner)} \|.*\n\|[-:| ]+\|\n(?P<rows>(?:\|.*\n)+)", page, re.MULTILINE)
    if table is None:
        raise ValueError(f"the page has no table whose first heading is {corner!r}")
    return table


def range_of_runs(page: str, column: int) -> str:
    """Return the range of a ratio over all runs in the table of runs, in whole numbers."""
    ratios = []
    for row in rows_of(page, _RUNS):
        ratios += [float(number) for number in re.findall(r"[\d.]+", row[column])]
    return f"{min(ratios):.0f} to {max(ratios):.0f}"


def sentences(page: str) -> list[tuple[Path, str, str]]:
    """Return the figures that other pages take from the page with the measurements.

    Returns:
        For each figure its file, the words before it, and the figure.
    """
    hopping = range_of_runs(page, 1)
    rows = {row[0].split(",")[0]: row[1] for row in rows_of(page, "work")}
    yahoo = rows["the Yahoo streaming benchmark"].split()[0]
    static = rows["five million rows of a static table"].split()[0]
    tumbling = {row[0]: row[3] for row in rows_of(page, "average of floats")}["10,000 keys, tumbling 60 s"]
    return [
        (README, "with a `combine` method it is ", range_of_runs(page, 3)),
        (README, "With windows of 600 seconds every 10 seconds, Muntin is ", hopping),
        (README, "Muntin then reaches ", static),
        (README, "Spark's rate on a static table, and ", yahoo),
        (WHY_NOT_GROUPBY, "averages of floats with 10,000 keys reached ", tumbling.split()[0]),
        (WHY_NOT_GROUPBY, "`window()` if windows do not overlap, and ", hopping),
        (WHY_NOT_GROUPBY, "A Python aggregate with `combine` reached ", range_of_runs(page, 3)),
    ]


def with_figure(text: str, words: str, figure: str) -> str:
    """Return a text with another figure after certain words.

    Raises:
        ValueError: The words do not occur once, followed by a figure.
    """
    new_text, count = re.subn(rf"(?<={re.escape(words)})[\d.]+( to [\d.]+)?(?= times)", figure, text)
    if count != 1:
        raise ValueError(f"expected a figure and 'times' once after {words!r}, got it {count} times")
    return new_text


def publish(medians: Medians, conditions: str) -> list[str]:
    """Write the figures of a run into the pages, and return a report in lines: what was written, what was left."""
    report = []
    page = MEASUREMENTS.read_text(encoding="utf-8")
    for table in TABLES:
        try:
            page = with_rows(page, table.corner, table.rows(medians))
            report.append(f"written: {table.corner}")
        except NotMeasuredError as error:
            report.append(f"left as it is: {table.corner}; no full run of {error.args[0]}")
    try:
        page = with_rows(page, _RUNS, [*rows_of(page, _RUNS), row_of_run(medians, conditions)])
        report.append("added: a row of the table of runs")
    except NotMeasuredError as error:
        report.append(f"not added to the table of runs; no full run of {error.args[0]}")
    MEASUREMENTS.write_text(page, encoding="utf-8")
    for path, words, figure in sentences(page):
        path.write_text(with_figure(path.read_text(encoding="utf-8"), words, figure), encoding="utf-8")
    return report


def _times(ratio: float) -> str:
    """Return a ratio in words, such as `7.3 times`."""
    return f"{_spell(ratio)} times"


def _spell(ratio: float) -> str:
    """Return a ratio with two or three significant digits."""
    return f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the figures of a run into the pages, and say which."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.publish", description="Write the figures of a run into the pages."
    )
    parser.add_argument("results", nargs="?", type=Path, default=Path("build/bench/results.json"))
    parser.add_argument("--conditions", required=True, help="of the machine during the run, such as 'quiet'")
    options = parser.parse_args(arguments)
    medians = Medians(json.loads(options.results.read_text(encoding="utf-8")))
    report = publish(medians, options.conditions)
    report.append("read what the pages say of the run beside these tables: its date, its machine, what else ran")
    sys.stdout.writelines(f"{line}\n" for line in report)


if __name__ == "__main__":
    main()
