"""Running a notebook as Jupyter does, but in the tests' own process and Spark session."""

from __future__ import annotations

import ast
import json
import linecache
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Final, TypeAlias

SHOWN: Final = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_", "text/plain": "__repr__"}
"""The forms of a value that a cell ends with, and the methods that Jupyter calls for them."""

Output: TypeAlias = Mapping[str, str]
"""What a cell prints, by `print`, and the forms of its value by their kinds."""

Notebook: TypeAlias = dict[str, Any]


def read(path: Path) -> Notebook:
    """Return a notebook, from its file."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def file_of(notebook: Notebook, outputs: list[Output]) -> str:
    """Return the file of a notebook: with these outputs, and nothing that depends on who ran it, or when."""
    outputs_left = iter(outputs)
    cells = [_cell(number, cell, outputs_left) for number, cell in enumerate(notebook["cells"], start=1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def outputs_in(notebook: Notebook) -> list[Output]:
    """Return the outputs that a notebook has, one for each cell of code.

    Raises:
        AssertionError: A cell failed, or printed to stderr.
    """
    return [_output(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: Notebook, namespace: dict[str, Any]) -> list[Output]:
    """Run the cells of code in a namespace and return the output of each."""
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [_run_cell(source, f"<cell {number}>", namespace) for number, source in enumerate(sources, 1)]


def _run_cell(source: str, name: str, namespace: dict[str, Any]) -> Output:
    """Run the source of a cell, and return what it prints and the forms of its last expression."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # for those who read code
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec", dont_inherit=True), namespace)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)
    shown = {} if value is None else {kind: _form(value, method) for kind, method in SHOWN.items()}
    return _without_empty({"print": printed.getvalue(), **shown})


def _form(value: object, method: str) -> str:
    """Return a form of a value, by the method that makes it; empty if the value has no such method."""
    make: Callable[[], str] = getattr(value, method, str)  # str() is empty
    return make()


def _without_empty(output: Mapping[str, str]) -> Output:
    """Return an output without the forms that have no text."""
    return {kind: text for kind, text in output.items() if text}


def _output(cell: Mapping[str, Any]) -> Output:
    """Return the output of a cell in the file of a notebook: its prints, and the forms of its value."""
    printed = ""
    shown = dict[str, str]()
    for output in cell["outputs"]:
        assert output["output_type"] in ("stream", "execute_result"), output
        if output["output_type"] == "stream":
            assert output["name"] == "stdout", output
            printed += "".join(output["text"])
        else:
            shown = {kind: "".join(text) for kind, text in output["data"].items()}
    return _without_empty({"print": printed, **shown})


def _cell(number: int, cell: Mapping[str, Any], outputs: Iterator[Output]) -> dict[str, Any]:
    """Return a cell as the file of a notebook has it; a cell of code takes the next of the outputs."""
    cell_data = {
        "cell_type": cell["cell_type"],
        "id": f"cell-{number}",
        "metadata": {},
        "source": _lines(cell["source"]),
    }
    if cell["cell_type"] == "markdown":
        return cell_data
    output = dict(next(outputs))
    printed = output.pop("print", "")
    parts: list[dict[str, Any]] = []
    if printed:
        parts.append({"name": "stdout", "output_type": "stream", "text": _lines(printed)})
    if output:
        data = {kind: _lines(text) for kind, text in output.items()}
        parts.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return {**cell_data, "execution_count": None, "outputs": parts}


def _lines(text: str | list[str]) -> list[str]:
    """Return a text, or pieces of one, as lines with their ends: so the file of a notebook has texts."""
    return "".join(text).splitlines(keepends=True)
