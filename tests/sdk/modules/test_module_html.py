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


class Undecided(Above):
    name = "tides.undecided"

    @classmethod
    def input_field(cls) -> Any:
        return Aggregate.input_field()


def html_of(shown: object) -> str:
    return cast("str", cast("Any", shown)._repr_html_())


def test_a_call_shows_its_columns_and_parameters() -> None:
    html = html_of(stats.quantile("km < 3", q=0.9))
    assert "<b>stats.quantile 0.1.0</b><br>Return the value that a share `q`" in html
    assert ">columns</th>" in html
    assert "km &lt; 3" in html
    assert "q = 0.9" in html
    assert ">reads</th>" in html
    assert ">returns</th>" in html


def test_a_function_of_a_plugin_and_a_module_show_the_module() -> None:
    assert html_of(stats.average) == html_of(Average())
    assert "Average the members of a window." in html_of(stats.average)
    assert ">columns</th>" not in html_of(stats.average)


def test_a_call_of_several_inputs_names_their_streams() -> None:
    call = stats.average_difference(from_stream("inside", "celsius"), from_stream("outside", "celsius"))
    assert "left of inside: celsius, right of outside: celsius" in html_of(call)


def test_everything_is_escaped() -> None:
    html = html_of(Above())
    assert "Count payloads &lt;above&gt; a level." in html
    assert "word: str = &#x27;&lt;word&gt;&#x27;" in html
    assert "<details><summary>More</summary><pre>The level &amp; more.</pre></details>" in html


def test_a_class_whose_types_are_not_known_is_shown_without_them() -> None:
    html = html_of(cast("Any", Undecided)())
    assert "tides.undecided" in html
    assert ">reads</th>" not in html


def test_a_function_shows_its_parameters_and_its_result() -> None:
    html = html_of(stats.clamp)
    assert f"<b>{stats.clamp.name} {stats.clamp.version}</b>" in html
    assert "low: " in html
    assert ">returns</th>" in html
