"""Try the laws in a folder of tests, and nothing else there, and say what became of each."""

import json
import sys
from typing import Any

import pytest


class OwnLaws:
    """Collects the tests of laws classes.

    Attributes:
        tried: The name of each subject, the law, and how it is broken; empty where it is kept. Those that are skipped,
            or marked as known to be broken, are left out.
    """

    def __init__(self) -> None:
        self.tried: list[tuple[str, str, str]] = []

    def pytest_collection_modifyitems(self, items: list[object]) -> None:
        """Leave out all that is no law."""
        items[:] = [item for item in items if hasattr(getattr(item, "function", None), "law")]

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Take note of what became of a law."""
        is_excused = item.get_closest_marker("xfail") is not None
        if call.when != "call" or is_excused or (call.excinfo and call.excinfo.errisinstance(pytest.skip.Exception)):
            return
        broken = str(call.excinfo.value) if call.excinfo else ""
        self.tried.append((item.cls.subject().name, item.function.law.name, broken))


def try_laws(folder: str) -> list[tuple[str, str, str]]:
    """Run the laws in a folder of tests and return the result of each."""
    laws = OwnLaws()
    pytest.main(["-q", "-p", "no:cacheprovider", "--override-ini", "addopts=", folder], plugins=[laws])
    return laws.tried


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(try_laws(json.load(sys.stdin)))}\n")
