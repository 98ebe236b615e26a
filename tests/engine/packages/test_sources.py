"""Source that several threads parse at once, as where they start queries at the same time."""

from __future__ import annotations

import ast
import inspect
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from muntin.definitions.source_parsing import literal_of, parse_source, while_parsing
from muntin.modules import parameters
from muntin_engine.packages import sources

DISTURBED = "AST constructor recursion depth mismatch (before=63, after=75)"
"""The message of CPython 3.11, for source that has no fault."""


class Plain:
    """It has no method by which its source could be found."""

    x = 1


class Parsing:
    """Stands in for `ast.parse`: fails now and then, as when another thread parses, and counts."""

    def __init__(self, failures: int = 0, pause: float = 0.0) -> None:
        self.failures = failures
        self.pause = pause
        self.texts: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self._parse = ast.parse
        self._lock = threading.Lock()

    def __call__(self, source: Any, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            self.texts[str(source)] += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            threading.Event().wait(self.pause)
            if self.failures:
                self.failures -= 1
                raise SystemError(DISTURBED)
            return self._parse(source, *arguments, **named)
        finally:
            with self._lock:
                self.at_once -= 1


@pytest.fixture(autouse=True)
def _nothing_parsed_yet() -> None:
    sources._tree_of.cache_clear()


def test_what_another_thread_disturbs_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    function: Any = test_what_another_thread_disturbs_is_parsed_again
    expected = sources.function_source(function)
    assert expected is not None
    for find in (
        lambda: sources.function_source(function),
        lambda: sources.class_source(Parsing),
        lambda: sources.class_source(Plain),
        lambda: sources.module_source("x = 1  # one"),
        lambda: literal_of("[1, 2]"),
        lambda: parameters._remedy("q", "0.5", float),
    ):
        sources._tree_of.cache_clear()
        undisturbed = find()
        assert undisturbed
        for failures in (1, 3):
            sources._tree_of.cache_clear()
            monkeypatch.setattr(ast, "parse", Parsing(failures))
            assert find() == undisturbed
            monkeypatch.undo()


def test_threads_parse_one_after_the_other_and_a_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsing = Parsing(pause=0.002)
    monkeypatch.setattr(ast, "parse", parsing)
    texts = [f"def f{number}(): return {number}\n" for number in range(3)]
    with ThreadPoolExecutor(8) as pool:
        parsed = list(pool.map(sources._parsed, texts * 8))
    assert all(isinstance(tree, ast.Module) for tree in parsed)
    assert parsing.most_at_once == 1
    assert [parsing.texts[text] for text in texts] == [1, 1, 1]


def test_what_no_other_thread_brings_about_is_raised() -> None:
    calls = Counter[str]()

    def fail() -> None:
        calls["fail"] += 1
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        while_parsing(fail)
    assert calls == {"fail": 1}
    with pytest.raises(SyntaxError):
        parse_source("def")
    with pytest.raises(SystemError, match="mismatch"):
        while_parsing(lambda: Parsing(1)("x"))  # disturbed at each try


def test_many_threads_find_the_source_of_one_file() -> None:
    text = inspect.getsource(sources)
    with ThreadPoolExecutor(8) as pool:
        spelled = set(pool.map(lambda _: sources.module_source(text), range(40)))
    assert len(spelled) == 1
