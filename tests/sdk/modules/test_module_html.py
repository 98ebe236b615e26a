"""A module in a notebook: its types, its parameters and its docstring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import muntin_stats as stats
from muntin import Aggregate
from muntin_engine import from_stream
from muntin_stats import Average


class Above(Aggregate[float, int]):
    """Count payloads <above> a level.

    The level & more.
    """

    name, version = "tides.above", "1.0.0"

    def __init__(self, level: float = 0.0, word: str = "<word>") -> None:
        pass

    def compute_result(self, payloads: Sequence[float]) -> int:
        return len(payloads)


class Untyped(Above):
    """A module whose input has no known type."""

    name = "tides.untyped"

    @classmethod
    def input_field(cls) -> Any:
        return Aggregate.input_field()


def html_of(module_or_call: Any) -> str:
    """Return what a notebook shows of a module, or of a call of one."""
    return cast("str", module_or_call._repr_html_())


def test_a_call_shows_its_columns_and_parameters() -> None:
    html = html_of(stats.quantile("km < 3", q=0.9))
    assert "<b>stats.quantile 0.1.0</b><br>Return the value that a share `q`" in html
    assert ">columns</th>" in html
    assert "km &lt; 3" in html
    assert "q = 0.9" in html
    assert ">reads</th>" in html
    assert ">returns</th>" in html


def test_the_typed_call_of_a_plugin_shows_what_the_module_shows() -> None:
    html = html_of(stats.average)
    assert html == html_of(Average())
    assert "Average the members of a window." in html
    assert ">columns</th>" not in html


def test_a_call_of_several_inputs_names_their_streams() -> None:
    call = stats.average_difference(from_stream("inside", "celsius"), from_stream("outside", "celsius"))
    assert "left of inside: celsius, right of outside: celsius" in html_of(call)


def test_docstrings_and_parameters_are_escaped() -> None:
    html = html_of(Above())
    assert "Count payloads &lt;above&gt; a level." in html
    assert "word: str = &#x27;&lt;word&gt;&#x27;" in html
    assert "<details><summary>More</summary><pre>The level &amp; more.</pre></details>" in html


def test_a_class_whose_types_are_not_known_is_shown_without_them() -> None:
    html = html_of(Untyped())
    assert "tides.untyped" in html
    assert ">reads</th>" not in html


def test_a_function_of_a_plugin_shows_its_parameters_and_its_result() -> None:
    html = html_of(stats.clamp)
    assert f"<b>{stats.clamp.name} {stats.clamp.version}</b>" in html
    assert "low: " in html
    assert ">returns</th>" in html
