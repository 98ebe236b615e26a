"""The names that wrong calls read, and a session in which no query starts."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests.engine.api.advice.following import Started
from tests.engine.api.advice.planning import Names


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have `write` stop before it starts a query, with its folders in one that is thrown away."""

    def start(*_: object, **__: object) -> None:
        raise Started

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("muntin_engine.backends.spark.foreach_batch.write._start", start)


@pytest.fixture(scope="package")
def names(request: pytest.FixtureRequest) -> Names:
    def session() -> Any:
        # Its JVM outlives this test, and so does the folder that it starts in.
        with chdir(request.config.rootpath):
            return request.getfixturevalue("spark")

    return Names(session)
