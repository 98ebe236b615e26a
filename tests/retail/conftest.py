"""The plugin of this folder is installed while a test runs, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.catalog import installed

SITE = Path(__file__).with_name("site")


@pytest.fixture(autouse=True)
def _retail(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(SITE)
    installed.cache_clear()
    yield
    installed.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "muntin_retail"]:
        del sys.modules[name]
