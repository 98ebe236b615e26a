"""`python -m tests.docs.write_outputs [page ...]`: run pages and write what their blocks print below them.

Look at the difference before you keep it: this makes the pages true, not right.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.pages import NOTEBOOKS, PAGES, name_of
from tests.docs.runner import Printed, needs_spark, open_page, tidy


def main(names: list[str]) -> None:
    """Write the outputs of pages, all if none is named."""
    pages = [page for page in PAGES if page not in NOTEBOOKS and (not names or name_of(page) in names)]
    spark = None
    if any(needs_spark(page) for page in pages):
        from muntin_engine.backends.spark.session.local import local_session

        spark = local_session("muntin docs")
    for page in pages:
        session = spark if needs_spark(page) else None
        with TemporaryDirectory() as folder, open_page(page, Path(folder), session) as running:
            outputs = list(running.run())
        for output in outputs:
            if output.text and output.shown is None:
                print(f"{output.block} prints something the page does not show:\n{output.text}")
        _write(page, outputs)


def _write(page: Path, outputs: Iterable[Printed]) -> None:
    """Write what the blocks of a page printed into the blocks that show it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    shown = [(output.shown, output.text) for output in outputs if output.shown is not None]
    for block, text in reversed(shown):  # from the end, so that the lines above keep their numbers
        first = block.line - 1
        lines[first : first + len(block.lines)] = tidy(text).splitlines()
    page.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
