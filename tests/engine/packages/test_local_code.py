"""The modules whose code travels with a query: those of no installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import cloudpickle
import pytest

from muntin_engine.packages.local_code import local_modules
from muntin_engine.packages.pickled_code import pickled_with_local_code


def test_a_module_that_is_imported_under_another_name_than_its_own_is_not_shipped_with_queries_and_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("beside_a_script.py").write_text("VALUE = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import beside_a_script  # type: ignore[import-not-found]

    assert beside_a_script in local_modules()
    monkeypatch.delitem(sys.modules, "beside_a_script")
    monkeypatch.setitem(sys.modules, "another_name", beside_a_script)
    assert beside_a_script not in local_modules()
    assert pickled_with_local_code(cloudpickle, 1)
