"""`make pages`: run the notebooks in Jupyter, each in a kernel of its own, and write what their cells give.

With `--check` nothing is written, and a notebook that shows something else is an error.
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory

from tests.docs.notebooks import Notebook, file_of, outputs_in, read
from tests.docs.pages import NOTEBOOKS, name_of


def main(arguments: list[str]) -> int:
    """Run all notebooks and write their outputs, or with `--check` count those whose outputs differ."""
    differing = 0
    for path in NOTEBOOKS:
        old_text = path.read_text(encoding="utf-8")
        text = file_of(read(path), outputs_in(_run_in_jupyter(old_text)))
        if text == old_text:
            print(f"{name_of(path)}: as it is")
        elif "--check" in arguments:
            differing += 1
            print(f"{name_of(path)}: its cells give something else")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{name_of(path)}: written")
    return differing


def _run_in_jupyter(text: str) -> Notebook:
    """Run a notebook, given as the text of its file, in an empty folder."""
    import nbformat  # `make pages` installs them, and the tests, which import this file, need neither
    from nbclient import NotebookClient

    notebook: Notebook = nbformat.reads(text, as_version=4)
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    return notebook


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
