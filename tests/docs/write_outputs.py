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
    pages = [page for page in PAGES if page not in NOTEBOOKS and (not names or name_of(page) in names)]
    spark = None
    if any(needs_spark(page) for page in pages):
        from muntin_engine.spark.session.local import local_session

        spark = local_session("muntin docs")
    for page in pages:
        with (
            TemporaryDirectory() as folder,
            open_page(page, Path(folder), spark if needs_spark(page) else None) as running,
        ):
            printed = list(running.run())
        for missing in (item for item in printed if item.text and item.shown is None):
            print(f"{missing.block} prints something the page does not show:\n{missing.text}")
        if any(item.shown for item in printed):
            _write(page, printed)


def _write(page: Path, printed: Iterable[Printed]) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    shown = [(item.shown, item.text) for item in printed if item.shown is not None]
    for block, text in reversed(shown):
        lines[block.line - 1 : block.line - 1 + len(block.lines)] = tidy(text).splitlines()
    page.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
