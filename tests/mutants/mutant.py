"""`python -m tests.mutants.mutant MODULE NUMBER TESTS`: run tests on a mutant, which no file holds.

The tests are scenarios, such as `early:3`, or what pytest is given. The number -1 is that of the module as it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

import pytest

from tests.mutants.mutating import mutate


class _Mutating(SourceFileLoader):
    """Loads a module with one change in it."""

    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self._number = number

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed code; none of it comes from or goes to a cache."""
        tree = ast.parse(self.get_data(self.get_filename(fullname)))
        mutate(tree, self._number)
        return compile(tree, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, module: str, number: int) -> None:
        self._module, self._number = module, number

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module comes from, if it is the one to change."""
        spec = PathFinder.find_spec(name, path, target) if name == self._module else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Mutating(name, spec.origin, self._number)
        return spec


def main(module: str, number: int, tests: Sequence[str]) -> int:
    """Run tests; return 0 if all pass."""
    if number >= 0:
        sys.meta_path.insert(0, _Finder(module, number))
    if not all(":" in test for test in tests):
        return pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=line", *tests])
    from tests.mutants.net import run  # the engine is loaded with the mutant in it

    for family, seed in (test.split(":") for test in tests):
        try:
            run(family, int(seed))
        except BaseException as error:
            print(f"{family} {seed} {type(error).__name__}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
