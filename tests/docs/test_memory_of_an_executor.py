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
    for page, of_cores in FORMULAS.items():
        sentences = " ".join((DOCS / page).read_text(encoding="utf-8").split()).split(EXECUTOR)[1:]
        assert sentences, page
        assert all(text.startswith(of_cores) for text in sentences), page


def test_the_sums_on_the_page_are_right() -> None:
    page = (DOCS / "deploy/size-a-query.md").read_text(encoding="utf-8")
    sums = re.findall(r"`([\d., *+()/]+)` = ([\d,.]+)", page)
    assert len(sums) > 5
    for terms, total in sums:
        assert eval(terms.replace(",", "")) == float(total.replace(",", "")), terms
