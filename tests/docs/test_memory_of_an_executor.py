"""The memory of an executor is one formula, wherever a page gives it."""

from __future__ import annotations

import re
from typing import Final

from tests.docs.pages import DOCS

EXECUTOR: Final = "700 MB + RocksDB's limit + "
"""What each formula for the memory of an executor begins with."""

FORMULAS: Final = {
    "deploy/size-a-query.md": "cores * 600 MB",
    "deploy/before-you-deploy.md": "cores * 600 MB",
    "deploy/run-on-a-cluster.md": "600 MB for each core",
    "how-to/troubleshoot.md": "600 MB for each core",
}


def test_all_pages_give_the_same_memory_of_an_executor() -> None:
    for page, memory_of_cores in FORMULAS.items():
        text = " ".join((DOCS / page).read_text(encoding="utf-8").split())  # a formula may be broken over lines
        _, *endings = text.split(EXECUTOR)
        assert endings, page
        assert all(ending.startswith(memory_of_cores) for ending in endings), page


def test_the_sums_on_the_page_about_the_size_of_a_query_are_right() -> None:
    page = (DOCS / "deploy/size-a-query.md").read_text(encoding="utf-8")
    sums = re.findall(r"`([\d., *+()/]+)` = ([\d,.]+)", page)
    assert len(sums) > 5
    for terms, total in sums:
        assert eval(terms.replace(",", "")) == float(total.replace(",", "")), terms
