"""Tables and figures on pages: what combines on arrays, what was measured, the same windows in other systems."""

from __future__ import annotations

import re
from inspect import isfunction, signature
from pathlib import Path

import pytest

import muntin
from muntin import rows as row_windows
from muntin_engine.evaluators.declarations.combinations import COMBINATIONS
from muntin_engine.monitoring.exported_metrics import EXPORTED
from muntin_engine.monitoring.opentelemetry import otel_name
from muntin_engine.plan.chosen_evaluator import Arrivals, Geometry, Held
from muntin_engine.plan.evaluator_declaration import Demand
from muntin_engine.sql_text.clauses import EMITS, REFINEMENTS
from muntin_engine.sql_text.dialect import QUERY_CLAUSES, STREAM_CLAUSES
from tests.docs.pages import DOCS, ROOT

EVALUATION = DOCS / "contributing/evaluation.md"


def cell(geometry: Geometry, arrivals: Arrivals, held: Held) -> str:
    """Return the cell of a combination: the emissions that it knows, and its conditions."""
    combination = COMBINATIONS.get((geometry, arrivals, held))
    if combination is None:
        return "-"
    demands = [demanded(demand) for demand in combination.demands]
    emits = ", ".join(f"`{emission}`" for emission in combination.emits)
    return f"{emits}; {'; '.join(demands)}" if demands else emits


def demanded(demand: Demand) -> str:
    """Return the condition that the docstring of a demand states."""
    match = re.match(r"Demand that (.+?)(?:; return why not, or None)?\.", str(demand.__doc__))
    assert match is not None, f"the docstring of {demand} states its condition as others do"
    return match[1]


def table_of_combinations() -> str:
    """Return the table as the page has it; combinations that no held parts know have no row."""
    lines = [f"| stretches | what comes | {' | '.join(Held)} |", f"|---|---{'|---' * len(Held)}|"]
    for arrivals in Arrivals:
        for geometry in Geometry:
            cells = [cell(geometry, arrivals, held) for held in Held]
            if any(text != "-" for text in cells):
                lines.append(f"| {geometry} | {arrivals} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_page_has_the_combinations_that_the_planner_knows() -> None:
    """Print the table if the page lacks it, to be put there."""
    assert len(COMBINATIONS) > 8
    table = table_of_combinations()
    assert table in EVALUATION.read_text(encoding="utf-8"), f"{EVALUATION} lacks this table:\n{table}"


PERFORMANCE = (DOCS / "explanation/performance.md").read_text(encoding="utf-8")
MEASURED = PERFORMANCE.partition("## Against Spark and others")[2]
FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+\.\d+(?= times)")


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=lambda page: page.name)
def test_a_figure_on_a_first_page_was_measured(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    figures = FIGURE.findall(text)

    assert len(figures) >= 2
    assert "make bench" in text
    assert "\nmake bench\n" in MEASURED
    assert [figure for figure in figures if figure not in MEASURED] == []


WINDOWS = DOCS / "reference/windows.md"
SYSTEMS = ["Flink", "Beam", "Kafka Streams", "Spark", "StreamInsight"]


def rows_of_other_systems() -> list[list[str]]:
    """Return the cells of the table of windows of other systems, row by row."""
    section = WINDOWS.read_text(encoding="utf-8").partition("## The same windows elsewhere\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    table: list[list[str]] = []
    for line in lines:
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def functions_that_make_windows() -> set[str]:
    """Return the names of our functions that return a specification of windows."""
    names: set[str] = set()
    for room in (muntin, row_windows):
        for name in room.__all__:
            value = getattr(room, name)
            if not isfunction(value):
                continue
            returned_type = str(signature(value).return_annotation)
            if re.search(r"(Windows|Rows|Batches|Between|Specification)$", returned_type):
                names.add(name)
    return names


def test_every_function_that_makes_windows_has_a_row_with_all_systems() -> None:
    header, rule, *body = rows_of_other_systems()
    assert header[1:] == SYSTEMS
    assert set(rule) == {"---"}
    functions: set[str] = set()
    for row in body:
        assert len(row) == len(header)
        assert "" not in row
        functions.update(re.findall(r"(\w+)\(", row[0]))
    assert functions == functions_that_make_windows()
    assert len(functions) > 10


def test_the_page_has_the_names_that_monitoring_systems_get() -> None:
    """Print the table if the page lacks it, to be put there."""
    lines = ["| Prometheus | OpenTelemetry | label | meaning |", "|---|---|---|---|"]
    for metric in EXPORTED:
        name = f"{metric.name}_total" if metric.is_counter else metric.name
        label = f"`{metric.label}`" if metric.label else ""
        lines.append(f"| `{name}` | `{otel_name(metric)}` | {label} | {metric.text} |")
    table = "\n".join(lines)
    assert table in (DOCS / "reference/metrics.md").read_text(encoding="utf-8"), f"it lacks this table:\n{table}"


def test_the_grammar_of_queries_in_sql_has_every_clause_that_is_read() -> None:
    page = (DOCS / "reference/query.md").read_text(encoding="utf-8")
    grammar = page.partition("```text\nquery:\n")[2].partition("```")[0]
    refinements = [refinement.upper() for refinement in REFINEMENTS]
    words = {*QUERY_CLAUSES, *STREAM_CLAUSES, *EMITS, *refinements}
    assert words <= set(re.findall(r"\w+", grammar))
