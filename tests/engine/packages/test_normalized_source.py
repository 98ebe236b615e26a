"""Source that several threads parse at once, as where they start queries at the same time."""

from __future__ import annotations

import ast
import inspect
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from muntin.definitions.source_parsing import literal_of, parse_source, while_parsing
from muntin.modules import parameters
from muntin_engine.packages import normalized_source

DISTURBED = "AST constructor recursion depth mismatch (before=63, after=75)"
"""The message of CPython 3.11, for source that has no fault."""


FUNCTION: Any = while_parsing


class Plain:
    """It has no method by which its source could be found."""

    x = 1


class FakeParse:
    """Stands in for `ast.parse`, and counts.

    Attributes:
        failures: How many of the next calls fail, as when another thread parses.
        pause: The seconds that a call takes longer.
        texts: How often each text was parsed.
        at_once: The number of calls that go on now.
        most_at_once: The most calls that went on at once.
    """

    def __init__(self, failures: int = 0, pause: float = 0.0) -> None:
        self.failures = failures
        self.pause = pause
        self.texts: Counter[str] = Counter()
        self.at_once = 0
        self.most_at_once = 0
        self._parse = ast.parse
        self._lock = threading.Lock()

    def __call__(self, source: Any, *arguments: Any, **named_arguments: Any) -> Any:
        with self._lock:
            self.texts[str(source)] += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            threading.Event().wait(self.pause)
            if self.failures:
                self.failures -= 1
                raise SystemError(DISTURBED)
            return self._parse(source, *arguments, **named_arguments)
        finally:
            with self._lock:
                self.at_once -= 1


@pytest.fixture(autouse=True)
def _nothing_parsed_yet() -> None:
    normalized_source._tree_of.cache_clear()


@pytest.mark.parametrize("failures", [1, 3])
@pytest.mark.parametrize(
    "parse",
    [
        pytest.param(lambda: normalized_source.function_source(FUNCTION), id="of a function"),
        pytest.param(lambda: normalized_source.class_source(FakeParse), id="of a class"),
        pytest.param(lambda: normalized_source.class_source(Plain), id="of a class without methods"),
        pytest.param(lambda: normalized_source.module_source("x = 1  # one"), id="of a module"),
        pytest.param(lambda: literal_of("[1, 2]"), id="of a literal"),
        pytest.param(lambda: parameters._remedy("q", "0.5", float), id="of a parameter"),
    ],
)
def test_source_whose_parsing_another_thread_disturbs_is_parsed_again(
    parse: Callable[[], Any], failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = parse()
    assert undisturbed
    normalized_source._tree_of.cache_clear()
    monkeypatch.setattr(ast, "parse", FakeParse(failures))
    assert parse() == undisturbed


def test_threads_parse_one_after_the_other_and_a_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_parse = FakeParse(pause=0.002)
    monkeypatch.setattr(ast, "parse", fake_parse)
    texts = [f"def f{number}(): return {number}\n" for number in range(3)]
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(normalized_source._parsed, texts * 8))
    assert all(isinstance(tree, ast.Module) for tree in trees)
    assert fake_parse.most_at_once == 1
    assert [fake_parse.texts[text] for text in texts] == [1, 1, 1]


def test_an_error_that_no_other_thread_brings_about_is_raised_at_once() -> None:
    calls = 0

    def fail() -> None:
        nonlocal calls
        calls += 1
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        while_parsing(fail)
    assert calls == 1


def test_an_error_in_source_is_raised() -> None:
    with pytest.raises(SyntaxError):
        parse_source("def")


def test_source_whose_parsing_is_disturbed_at_each_try_is_an_error_in_the_end() -> None:
    with pytest.raises(SystemError, match="mismatch"):
        while_parsing(lambda: FakeParse(failures=1)("x"))


def test_many_threads_find_the_same_source_of_one_file() -> None:
    text = inspect.getsource(normalized_source)
    with ThreadPoolExecutor(8) as pool:
        sources = set(pool.map(lambda _: normalized_source.module_source(text), range(40)))
    assert len(sources) == 1
