"""What Jupyter shows of queries, results, modules and streams, each as the last line of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

QUERY = """
    import pandas as pd

    import muntin_stats as stats
    from muntin import tumbling
    from muntin_engine import events

    leaves = pd.to_datetime(["2024-05-01 08:05", "2024-05-01 08:40", "2024-05-01 09:10"])
    rides = pd.DataFrame({"station": ["<north>", "<north>", "south"], "leaves": leaves, "km": [3.0, 7.5, 2.0]})
    windows = events(rides, key="station", at="leaves").window(tumbling("1 hour"))
    query = windows.aggregate(km=stats.average("km"))
"""
"""A cell with a query; the names of stations look like elements of HTML."""

STREAM = """
    from muntin_engine import spark_session

    spark = spark_session()
    schema = "station STRING, leaves TIMESTAMP, km DOUBLE"
    spark.createDataFrame(rides).write.parquet("rides")
    stream = spark.readStream.schema(schema).parquet("rides")
    windows = events(stream, key="station", at="leaves", watermark="1 minute").window(tumbling("1 hour"))
    running = windows.aggregate(km=stats.average("km")).write(results="results", checkpoint="checkpoint")
    running.processAllAvailable()
"""
"""A cell that runs the query on a stream."""


def shown_by_jupyter(folder: Path, *cells: str) -> list[Mapping[str, str]]:
    """Run cells in a kernel of their own, and return the forms in which each shows its last line.

    Args:
        folder: The working folder.
        cells: The code of each cell.
    """
    import nbformat
    from nbclient import NotebookClient

    sources = [dedent(cell).strip() for cell in cells]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return [_forms(cell.outputs) for cell in notebook.cells]


def _forms(outputs: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the forms of a cell's value by their kinds, such as `text/html`."""
    forms: dict[str, str] = {}
    for output in outputs:
        if output["output_type"] == "execute_result":
            forms |= output["data"]
    return forms


def test_a_query_its_results_and_a_module_show_themselves(tmp_path: Path) -> None:
    _, query, results, call, function = shown_by_jupyter(
        tmp_path, QUERY, "query", "query.results()", 'stats.average("km")', "stats.average"
    )

    html = query["text/html"]
    assert html.count("<svg ") == 2
    assert "tumbling(&#x27;1 hour&#x27;)" in html or "tumbling('1 hour')" in html
    assert "row 08:05: 3; row 08:40: 7.5; window [08:00, 09:00): 5.25" in html
    assert "<summary>How it is evaluated</summary>" in html
    assert "&lt;north&gt;" in html
    assert "<north>" not in html
    assert query["text/plain"].startswith("Query over tumbling('1 hour') by station")

    assert "<table" in results["text/html"]
    assert "5.25" in results["text/html"]

    assert "<b>stats.average 0.1.0</b>" in call["text/html"]
    assert ">columns</th>" in call["text/html"]
    assert "<b>stats.average 0.1.0</b>" in function["text/html"]


@pytest.mark.nightly
def test_a_running_query_shows_its_micro_batches(tmp_path: Path) -> None:
    _, _, running, listed, _ = shown_by_jupyter(
        tmp_path, QUERY, STREAM, "running", "from muntin_engine import queries\n\nqueries(spark)[0]", "running.stop()"
    )

    html = running["text/html"]
    assert "<th>micro-batch</th>" in html
    assert "<tr><td>0</td>" in html
    assert ">watermark</th>" in html
    assert html.count("<svg ") == 1
    assert ">watermark</th>" in listed["text/html"]
