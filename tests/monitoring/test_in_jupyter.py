"""What a notebook shows of a query, in Jupyter's own kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
CELLS = (
    "from muntin_engine import monitor\n"
    "from muntin_engine.monitoring.notebook import live_html\n"
    "from tests.monitoring.queries import FakeQuery, recorded\n"
    "monitor(FakeQuery(recorded(), name='rides'), refresh=0.01)",
    "class Running(FakeQuery):\n"
    "    def _repr_html_(self):\n"
    "        return live_html(self)\n"
    "Running(recorded(), name='rides')",
    "from tests.plan.test_query_text import query\nquery()",
)


def test_a_kernel_shows_a_watched_query_in_place_and_a_running_one_as_it_is_now() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    (watched,), (running,), (planned,) = (cell.outputs for cell in notebook.cells)
    assert (watched.output_type, running.output_type) == ("display_data", "execute_result")
    assert "muntin: batch 3" in watched.data["text/html"], "it was updated in place to the last batch"
    assert "rides has ended" in watched.data["text/html"]
    assert "muntin: batch 0" in running.data["text/html"]
    assert "rides runs" in running.data["text/html"]
    assert "<svg" in planned.data["text/html"], "the plan is a picture"
    assert "evaluator: " in planned.data["text/html"]
