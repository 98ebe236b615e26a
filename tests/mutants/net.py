"""The scenarios of the net on mutants, in processes that are forked where all is loaded: no start, and no file touched.

A scenario knows the lines of the engine that it runs. A mutant meets scenarios that run its line, the quickest of each
family first, and the first one that fails kills it.
"""

from __future__ import annotations

import ast
import gc
import os
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from inspect import CO_OPTIMIZED
from io import StringIO
from operator import attrgetter, itemgetter
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from tests.mutants.mutating import changes_of, mutate
from tests.scenarios.drawing import FAMILIES, SEEDS, drawn
from tests.scenarios.small import treated

MOST_CALLS: Final = 60
"""So many calls of a function are watched in a scenario; later ones hardly ever run other lines."""

MOST_SCENARIOS: Final = 60
"""A mutant that so many scenarios pass by lives."""

MEMORY: Final = 6 * 2**30
"""What a mutant may use."""


@dataclass(frozen=True)
class Known:
    """A scenario, the seconds that it takes, and the lines that it runs, as files and numbers."""

    family: str
    seed: int
    seconds: float
    lines: frozenset[tuple[str, int]]

    def run(self) -> None:
        """Run it; an error means that it fails."""
        run(self.family, self.seed)


def run(family: str, seed: int) -> None:
    """Run a scenario as the tests do; an error means that it fails."""
    with treated(seed), redirect_stdout(StringIO()):
        drawn(family, seed).run()


def survey(root: Path, seeds: int = SEEDS) -> list[Known]:
    """Run every scenario, and note what it runs of the files under a folder."""
    return [_survey(root, family, seed) for family in FAMILIES for seed in range(seeds)]


def _survey(root: Path, family: str, seed: int) -> Known:
    calls, lines, prefix = Counter[CodeType](), set[tuple[str, int]](), f"{root}{os.sep}"

    def line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(prefix):
            return None
        calls[code] += 1
        return line if calls[code] <= MOST_CALLS else None

    began = time.process_time()
    sys.settrace(call)
    try:
        run(family, seed)
    finally:
        sys.settrace(None)
    return Known(family, seed, time.process_time() - began, frozenset(lines))


def outcome(known: Sequence[Known], path: Path, number: int, seconds: float) -> str | list[Known]:
    """Return what becomes of a mutant in the net.

    Where no function can take it, its module must load anew: return the scenarios that run any of its file.

    Args:
        known: The scenarios.
        path: The file.
        number: The number of the change in it.
        seconds: For how long the mutant may run.
    """
    tree = ast.parse(path.read_text())
    node: Any = list(changes_of(tree))[number][0]
    first, last = _extent(node)
    lines = {(str(path), at) for at in range(first, last + 1)}
    meeting = diverse([one for one in known if one.lines & lines])
    mutate(tree, number)
    codes = _outermost(compile(tree, str(path), "exec", dont_inherit=True))
    changed = [code for code in codes if code.co_firstlineno <= first <= _last_line(code)]
    functions = [
        (function, code)
        for code in changed
        for function in _alive(str(path))
        if _name(function.__code__) == _name(code) and function.__code__ != code
    ]
    if not functions or any(function.__code__.co_freevars != code.co_freevars for function, code in functions):
        return diverse([one for one in known if any(file == str(path) for file, _ in one.lines)])
    if not meeting:
        return "SURVIVED (not run)"
    return _in_a_process(functions, meeting, seconds)


def _extent(node: ast.AST) -> tuple[int, int]:
    """Return the first and the last line of a node."""
    placed: list[Any] = [one for one in ast.walk(node) if hasattr(one, "lineno")]
    return min(one.lineno for one in placed), max(one.end_lineno for one in placed)


def diverse(meeting: Sequence[Known]) -> list[Known]:
    """Return the quickest scenario of each family, then the next one of each, and so on; so many and no more."""
    places: Counter[str] = Counter()
    ranked: list[tuple[int, float, Known]] = []
    for one in sorted(meeting, key=attrgetter("seconds")):
        ranked.append((places[one.family], one.seconds, one))
        places[one.family] += 1
    return [one for *_, one in sorted(ranked, key=itemgetter(0, 1))][:MOST_SCENARIOS]


def _in_a_process(functions: Sequence[tuple[FunctionType, CodeType]], meeting: Sequence[Known], seconds: float) -> str:
    """Fork, change functions, and run scenarios until one fails; return what happened."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for cached in (one for one in gc.get_objects() if isinstance(one, _lru_cache_wrapper)):
            cached.cache_clear()
        for function, code in functions:
            function.__code__ = code
        said = f"SURVIVED ({len(meeting)})"
        for one in meeting:
            try:
                one.run()
            except BaseException as error:
                said = f"killed {one.family} {one.seed} {type(error).__name__}"
                break
        os.write(writes, said.encode())
        os._exit(0)
    os.close(writes)
    is_told, _, _ = select.select([reads], [], [], seconds)
    if not is_told:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = os.read(reads, 1_000).decode() if is_told else ""
    os.close(reads)
    return said or ("killed (end)" if is_told else "killed (time)")


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions of a module and of its classes, with all that is nested in them."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from [part] if part.co_flags & CO_OPTIMIZED else _outermost(part)


def _last_line(code: CodeType) -> int:
    lines = [line for *_, line in code.co_lines() if line is not None]
    return max([code.co_firstlineno, *lines, *(_last_line(one) for one in code.co_consts if isinstance(one, CodeType))])


def _name(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _alive(path: str) -> list[FunctionType]:
    return [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename == path]
