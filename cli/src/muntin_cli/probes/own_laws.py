"""Try the laws in a folder of tests, and no other tests there, and report the result of each."""

import json
import sys
from typing import Any, NamedTuple

import pytest


class TriedLaw(NamedTuple):
    """The result of a law that a laws class tried.

    Attributes:
        subject: Name of the module, function, trigger or kind of windows.
        law: Name of the law.
        error: Report of how it is broken; empty where it is kept.
    """

    subject: str
    law: str
    error: str


class OwnLaws:
    """Collects the tests of laws classes.

    Attributes:
        tried: Laws with their results, without those that are skipped or marked as known to be broken.
    """

    def __init__(self) -> None:
        self.tried: list[TriedLaw] = []

    def pytest_collection_modifyitems(self, items: list[object]) -> None:
        """Leave out all tests that are not laws."""
        items[:] = [item for item in items if hasattr(getattr(item, "function", None), "law")]

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Record the result of a law."""
        if call.when != "call":
            return
        is_known_to_break = item.get_closest_marker("xfail") is not None
        is_skipped = call.excinfo and call.excinfo.errisinstance(pytest.skip.Exception)
        if is_known_to_break or is_skipped:
            return
        error = str(call.excinfo.value) if call.excinfo else ""
        subject = item.cls.subject()
        name = getattr(subject, "name", type(subject).__name__)  # a policy has no name that queries find it by
        self.tried.append(TriedLaw(name, item.function.law.name, error))


def try_laws(folder: str) -> list[TriedLaw]:
    """Run the laws in a folder of tests and return the result of each."""
    laws = OwnLaws()
    # The options of the package are for its own runs: they may measure coverage, or hand tests to other processes.
    pytest.main(["-q", "-p", "no:cacheprovider", "--override-ini", "addopts=", folder], plugins=[laws])
    return laws.tried


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(try_laws(json.load(sys.stdin)))}\n")
