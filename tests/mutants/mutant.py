"""`python -m tests.mutants.mutant MODULE NUMBER [pytest arguments]`: run tests on a mutant, which no file holds.

The number -1 is that of the module as it is.
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


if __name__ == "__main__":
    module, number, *arguments = sys.argv[1:]
    if int(number) >= 0:
        sys.meta_path.insert(0, _Finder(module, int(number)))
    sys.exit(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=line", *arguments]))
