"""The page shows the formulas that the engine has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from muntin_engine.evaluators.sizes import SIZES
from muntin_engine.plan.sizes import BUCKET, DECODED, ENTRY, LARGE, Bytes, Sizes, StateBytes

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "deploy/size-a-query.md"


def term(count: str, each: Bytes, size: str, number: str) -> str:
    """Return the bytes of so many of one thing; nothing if they have none."""
    parts = ((each.per_byte, size), (each.per_value, number))
    some = [f"{factor:g} *{name}*" if factor != 1 else f"*{name}*" for factor, name in parts if factor]
    told = " + ".join([f"{each.fixed:g}"] * bool(each.fixed) + some)
    return "" if not told else f"*{count}* ({told})" if "+" in told else f"*{count}* {told}"


def formula(kept: StateBytes) -> str:
    """Return a formula as the page has it."""
    terms = (("K", kept.key, "k", "k"), ("S", kept.stretch, "v", "c"), ("E", kept.row, "v", "c"))
    return " + ".join(filter(None, (term(*one) for one in terms)))


def row(name: str, sizes: Sizes) -> str:
    """Return the row of the table of one way to evaluate windows."""
    evaluator, _, parts = name.partition(", ")
    large = "the same" if sizes.decoded is None else formula(sizes.decoded)
    told = f"{parts}: {sizes.what}" if parts else sizes.what
    return f"| `{evaluator}` | {told} | {formula(sizes.state)} | {formula(sizes.memory)} | {large} |"


def test_the_table_has_the_formulas() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if "*K*" in line and line.startswith("|")]
    assert shown == [row(name, sizes) for name, sizes in SIZES.items()]


def test_the_text_has_the_constants() -> None:
    text = PAGE.read_text()
    record = f"takes {SIZES['general'].record} bytes more"
    for constant in (
        f"{BUCKET} bytes of metadata",
        f"{ENTRY:,} for each entry",
        f"{DECODED:,} bytes more",
        f"{LARGE:,}",
        record,
    ):
        assert constant in text


EXECUTOR: Final = "700 MB + RocksDB's limit + "
"""What each formula for the memory of an executor begins with."""

FORMULAS: Final = {
    "deploy/size-a-query.md": "cores * 600 MB",
    "deploy/before-you-deploy.md": "cores * 600 MB",
    "deploy/run-on-a-cluster.md": "600 MB for each core",
    "how-to/troubleshoot.md": "600 MB for each core",
}


def test_all_pages_give_the_same_memory_of_an_executor() -> None:
    for page, of_cores in FORMULAS.items():
        said = " ".join((DOCS / page).read_text().split()).split(EXECUTOR)[1:]
        assert said, page
        assert all(text.startswith(of_cores) for text in said), page


def test_the_sums_on_the_page_are_right() -> None:
    sums = re.findall(r"`(700 \+ 500 \+ [\d *+()]+)` = ([\d,]+) MB", PAGE.read_text())
    assert len(sums) == 2
    for terms, total in sums:
        assert eval(terms) == int(total.replace(",", "")), terms
