"""What combinators do to payloads and results, to types and capabilities, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from itertools import permutations
from math import nan
from typing import Any, NamedTuple

import pytest

from muntin import Aggregate, ClipPolicy, Event, Window, tumbling
from muntin.errors import ModuleDefinitionError, ParameterError, UnknownModuleError
from muntin.schemas import describe, spell
from muntin.testing import Computation, Script, WindowedQuery
from muntin_adapters.combinators import (
    Grouped,
    GroupMember,
    Ranked,
    all_of,
    filtering,
    flat_mapping,
    grouping_by,
    mapping,
    preset,
    skipping_nulls,
    sorting,
    top_n,
    with_default,
)
from tests.plugins.adapters.combined_modules import Busy, Coverage, Distinct, Largest, Mean, Starts, Total, Values

CAPABILITIES = ("remove_events", "combine", "deduct", "columnar_form")
"""The methods that a module need not have."""

WINDOW = Window(0, 10)


def is_even(value: int) -> bool:
    """A condition for `filtering`."""
    return value % 2 == 0


def length(text: str) -> int:
    """A function for `mapping` whose types are annotated."""
    return len(text)


def types(module: Any) -> tuple[str, str]:
    """Return the types of the payloads and of the result of a module."""
    return spell(module.input_field()), spell(module.result_field())


def capabilities(module: Any) -> list[str]:
    """Return the optional methods that a module has."""
    return [name for name in CAPABILITIES if hasattr(module, name)]


def compute(module: Any, payloads: list[Any]) -> Any:
    """Return the result of an incremental module for payloads that are added in one call."""
    return module.compute_result(module.add_events(module.create_state(), payloads))


def test_a_filter_leaves_nothing_where_no_payload_meets_its_condition() -> None:
    sum_of_even = filtering(Total, is_even)()
    assert compute(sum_of_even, [1, 2, 3, 4]) == 6
    assert compute(sum_of_even, [1, 3]) is None

    distinct_even = filtering(Distinct, is_even)()
    assert list(distinct_even.compute_result([1, 3])) == []


def test_a_filter_may_have_a_null_for_a_result_and_keeps_the_capabilities_of_a_module() -> None:
    sum_of_even = filtering(Total, is_even)
    assert types(sum_of_even) == ("integer", "integer | None")
    assert capabilities(sum_of_even) == ["remove_events", "combine", "deduct"]


def test_a_window_of_which_nothing_is_left_has_a_row_and_an_empty_window_has_none() -> None:
    #      0         10        20        30
    # a    |3    5   |         |4        |
    script = Script().point("a", 1, 3).point("b", 6, 5).point("c", 22, 4).close()
    module = with_default(filtering(Total, is_even), 0)()
    output = script.run(WindowedQuery(tumbling(10), [Computation(module)]))[None]
    assert [(row.window.start, row.value) for row in output] == [(0, (0,)), (20, (4,))]


def test_a_filter_takes_the_fields_of_a_record() -> None:
    total = mapping(Total, lambda value, weight: value * weight, input=tuple[int, int])
    heavy = filtering(total, lambda value, weight: weight > 1)
    assert compute(heavy(), [(5, 1), (3, 2)]) == 6


def test_a_filter_leaves_the_lifetimes_of_events_as_they_are() -> None:
    events = [Event(0, 5, 1), Event(2, 6, 2)]
    coverage_of_even = filtering(Coverage, is_even)
    assert coverage_of_even().compute_result(events, WINDOW) == 0.4  # four of ten ticks
    assert coverage_of_even.accepted_clips == Coverage.accepted_clips


def test_a_mapping_leaves_the_lifetimes_of_events_as_they_are() -> None:
    events = [Event(0, 5, 1), Event(2, 6, 2)]
    starts_of_tens = mapping(Starts, lambda value: value * 10, input=int)
    assert starts_of_tens().compute_result(events, WINDOW) == [Event.point(0, 10), Event.point(2, 20)]


def test_the_members_of_a_group_have_their_lifetimes() -> None:
    busy = grouping_by(Busy)()
    state = busy.add_events(busy.create_state(WINDOW), [Event(0, 5, Grouped("a", 2))], WINDOW)
    assert busy.compute_result(state, WINDOW) == {"a": 1.0}  # 2 for five of ten ticks


def test_a_mapping_reads_what_its_function_takes() -> None:
    lengths = mapping(Total, length)
    assert types(lengths) == ("string", "integer")
    assert compute(lengths(times=2), ["a", "bcd"]) == 8
    assert str(signature(lengths)) == "(times: int = 1)"


def test_a_mapping_binds_what_a_module_takes_of_any_type() -> None:
    assert types(mapping(Largest, length)) == ("string", "integer")
    assert types(mapping(Largest, lambda text: text, input=str, to=str)) == ("string", "string")
    with pytest.raises(ModuleDefinitionError, match=r"returns is not known, and demo\.largest takes any type"):
        mapping(Largest, lambda text: text, input=str)
    with pytest.raises(ModuleDefinitionError, match="takes is not known"):
        mapping(Total, lambda text: 1)


def test_nulls_are_skipped_in_records_too() -> None:
    product = skipping_nulls(mapping(Total, lambda a, b: a * b, input=tuple[int, int]))
    assert types(product) == ("struct<_1: integer | None, _2: integer | None> | None", "integer | None")
    assert compute(product(), [(2, 3), (None, 1), None, (4, None)]) == 6
    assert compute(product(), [None]) is None


def test_a_columnar_form_stays_where_skipping_nulls_changes_nothing() -> None:
    reads = describe(float | None)
    skipping = skipping_nulls(Mean)()
    assert "columnar_form" in capabilities(skipping)
    assert type(skipping.columnar_form(reads)) is Mean
    assert "columnar_form" not in capabilities(filtering(Mean, is_even))


def test_a_default_takes_the_place_of_null() -> None:
    module = with_default(filtering(Total, is_even), 0)
    assert types(module) == ("integer", "integer")
    assert (compute(module(), [1]), compute(module(), [2])) == (0, 2)
    assert with_default(filtering(Distinct, is_even), -1)().compute_result([1]) == [-1]


def test_each_group_has_its_own_result() -> None:
    module = grouping_by(Total)
    assert types(module) == ("struct<group: Group, value: integer>", "map[Group, integer]")
    assert compute(module(), [Grouped("a", 1), Grouped("b", 2), Grouped("a", 3)]) == {"a": 4, "b": 2}
    assert capabilities(module) == ["remove_events", "combine", "deduct"]


def test_a_group_without_members_is_gone() -> None:
    module = grouping_by(Total)()
    of_a = [Grouped("a", 1)]
    of_b = [Grouped("b", 2)]

    state = module.add_events(module.create_state(), of_a + of_b)
    assert module.compute_result(module.remove_events(state, of_a)) == {"b": 2}

    state_of_b = module.add_events(module.create_state(), of_b)
    both = module.combine(module.add_events(module.create_state(), of_a), state_of_b)
    assert module.compute_result(module.deduct(both, state_of_b)) == {"a": 1}


def test_all_nans_are_one_group() -> None:
    module = grouping_by(Total)()
    state = module.add_events(module.create_state(), [Grouped(float("nan"), 1.0), Grouped(float("nan"), 2.0)])
    assert list(module.compute_result(state).values()) == [3.0]
    other = module.add_events(module.create_state(), [Grouped(float("nan"), 4.0)])
    state = module.combine(state, other)
    assert list(module.compute_result(state).values()) == [7.0]
    state = module.remove_events(state, [Grouped(float("nan"), 1.0)])
    assert list(module.compute_result(state).values()) == [6.0]


def test_a_module_that_needs_no_payload_can_be_grouped_by_one_column() -> None:
    module = grouping_by("stats.count")
    assert spell(module.input_field()) == "struct<group: Group, value: any | None>"
    assert compute(module(), [GroupMember("a"), GroupMember("b"), GroupMember("a")]) == {"a": 2, "b": 1}


def test_the_first_groups_come_in_order_and_ties_go_by_group() -> None:
    payloads = [Grouped("d", 1.0), Grouped("c", 5.0), Grouped("b", 5.0), Grouped("a", nan), Grouped("e", None)]
    three_largest = compute(top_n(grouping_by("stats.max"), 3)(), payloads)
    assert [place.group for place in three_largest] == ["a", "b", "c"]
    assert compute(top_n(grouping_by("stats.max"), 1, largest=False)(), payloads) == [Ranked("d", 1.0)]


def test_the_first_groups_are_a_list_of_groups_and_results() -> None:
    _, result_type = types(top_n(grouping_by(Total), 2))
    assert result_type == "list[struct<group: Group, result: integer>]"


def test_several_aggregates_make_one_record() -> None:
    module = all_of(total=Total, values=Values, twice=preset(Total, times=2))
    assert types(module) == ("integer", "struct<total: integer, values: list[integer], twice: integer>")
    assert capabilities(module) == ["remove_events", "combine"]
    assert compute(module(), [3, 1]) == {"total": 4, "values": [1, 3], "twice": 8}


def test_several_aggregates_read_the_one_type_that_some_of_them_say() -> None:
    assert types(all_of(n="stats.count", most="stats.max", mean=Mean)) == (
        "float",
        "struct<n: integer, most: float | None, mean: float>",
    )
    assert types(all_of(most="stats.max", least="stats.min"))[0] == "Payload | None"
    assert types(all_of(total=Total, mean=preset("stats.count")))[0] == "integer"
    with pytest.raises(ModuleDefinitionError, match="total reads integer, mean reads float\n  to do: convert it wi"):
        all_of(total=Total, mean=Mean)


class Longest(Aggregate[str, int]):
    """The length of the longest text."""

    name, version = "demo.longest", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> int:
        return max(map(len, payloads), default=0)


def test_several_aggregates_read_what_all_of_them_may_read() -> None:
    module = all_of(total="stats.sum", mean="stats.average", n="stats.count")
    variable = module.input_field().type
    assert [spell(choice) for choice in variable.choices] == ["integer", "float", "decimal"]
    assert types(all_of(mean="stats.average", spread="stats.variance"))[0] == "Payload | None"
    assert types(all_of(total=Total, mean="stats.average", spread="stats.variance")) == (
        "integer",
        "struct<total: integer, mean: float | None, spread: float | None>",
    )
    with pytest.raises(ModuleDefinitionError, match=r"mean reads integer or float or decimal(.|\n)*  to do: conve"):
        all_of(longest=Longest, mean="stats.average")


def test_a_combinator_keeps_how_large_decimals_grow() -> None:
    inner = all_of(total="stats.sum", mean="stats.average", most="stats.max", count="stats.count")
    outer = all_of(inner=inner, mean=skipping_nulls(with_default("stats.average", None)))

    # by how many digits in all, and how many of them after the point, a result is larger than the column
    fields = {part.name: part.type for part in outer.result_field().type.fields}
    growth_of_inner = {part.name: getattr(part.type, "growth", None) for part in fields["inner"].fields}
    assert growth_of_inner == {"total": (10, 0), "mean": (4, 4), "most": (0, 0), "count": None}
    assert fields["mean"].growth == (4, 4)

    by_group = grouping_by("stats.average").result_field().type
    assert by_group.key.type.growth is None
    assert by_group.value.type.growth == (4, 4)


def test_several_aggregates_see_times_if_one_of_them_does() -> None:
    module = all_of(total=Total, coverage=Coverage, largest=Largest)
    assert module.is_time_sensitive
    assert not module.is_incremental
    assert module.reads_times
    assert module.accepted_clips == frozenset({ClipPolicy.FULL})
    events = [Event(0, 5, 1), Event(2, 6, 2)]
    assert module().compute_result(events, WINDOW) == {"total": 3, "coverage": 0.9, "largest": 2}


def test_a_preset_parameter_is_no_longer_one_of_the_module() -> None:
    module = preset("stats.quantile", q=0.5)
    assert str(signature(module)) == "()"
    assert compute(module(), [1.0, 2.0, 9.0]) == 2.0
    assert str(signature(preset("stats.top_k", k=2))) == "(*, largest: bool = True)"
    with pytest.raises(ParameterError, match="got an unexpected keyword argument 'p'"):
        preset("stats.quantile", p=0.5)


def test_a_module_made_with_anything_else_has_another_version() -> None:
    versions = [
        filtering(Total, is_even).version,
        filtering(Total, lambda value: value > 1).version,
        filtering(Total, lambda value: value > 2).version,
        preset(Total, times=2).version,
        preset(Total, times=3).version,
        with_default(Total, 0).version,
        top_n(grouping_by(Total), 2).version,
        top_n(grouping_by(Total), 3).version,
        all_of(a=Total).version,
        all_of(b=Total).version,
    ]
    assert len(set(versions)) == len(versions)


def test_a_condition_is_in_the_version_by_its_name_or_its_code() -> None:
    assert filtering(Total, is_even).version == "1.0.0 where <tests.plugins.adapters.test_combinators.is_even>"
    assert filtering(Total, lambda value: value > 1).version == filtering(Total, lambda value: value > 1).version


def test_a_value_that_a_condition_refers_to_is_in_the_version_too() -> None:
    def above(limit: int) -> Any:
        return lambda value: value > limit

    assert filtering(Total, above(1)).version == filtering(Total, above(1)).version
    assert filtering(Total, above(1)).version != filtering(Total, above(2)).version


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grouping_by(Distinct), r"grouping_by\(demo.distinct\): it is an operator"),
        (lambda: top_n(Total, 2), "its result is not a map\n  expected: for example top_n"),
        (lambda: top_n(grouping_by(Total), 0), "n is 0"),
        (all_of, "all_of.. has no aggregates"),
        (lambda: all_of(rows=Distinct), "it is an operator"),
        (lambda: all_of(p90="stats.quantile"), "it needs q\n  to do: p90=preset.'stats.quantile', q=..."),
        (lambda: filtering(int, is_even), "is neither a module class nor the name of one"),  # type: ignore[arg-type]  # as said
    ],
)
def test_what_cannot_be_combined_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=message):
        make()


def test_a_name_that_nobody_offers_is_refused_with_the_closest() -> None:
    with pytest.raises(UnknownModuleError, match=r"did you mean 'stats\.average'"):
        filtering("stats.averge", is_even)


def below(value: int) -> range:
    """Return the numbers from zero up to a value, which are none for zero."""
    return range(value)


def letters(text: str) -> list[str]:
    """Return the letters of a text, with annotated types."""
    return [*text]


def test_a_payload_may_be_several_values_or_none() -> None:
    sum_below = flat_mapping(Total, below, input=int)()
    state = sum_below.add_events(sum_below.create_state(), [4, 0, 2])
    assert sum_below.compute_result(state) == (0 + 1 + 2 + 3) + (0 + 1)
    assert sum_below.compute_result(sum_below.remove_events(state, [4, 2])) is None
    assert sum_below.compute_result(sum_below.add_events(sum_below.create_state(), [0])) is None


def test_a_flat_mapping_has_the_type_and_the_name_of_its_function_in_its_version() -> None:
    distinct = flat_mapping("stats.distinct_count", letters)
    assert spell(distinct.input_field()) == "string"
    assert distinct.name == "stats.distinct_count_flat_mapped"
    assert "letters" in distinct.version


def test_each_value_lasts_as_long_as_its_event() -> None:
    busy = flat_mapping(Busy, lambda value: [value, value], input=int)()
    window = Window(0, 10)
    state = busy.add_events(busy.create_state(window), [Event(0, 5, 2)], window)
    assert busy.compute_result(state, window) == 2.0


def test_what_a_function_makes_has_a_type_where_a_module_takes_any() -> None:
    assert spell(flat_mapping("stats.mode", letters).result_field()) == "string | None"
    with pytest.raises(ModuleDefinitionError, match=r"flat_mapping\(stats.mode\): what .* returns is not known"):
        flat_mapping("stats.mode", lambda text: text, input=str)


def test_a_module_sees_payloads_in_the_order_of_a_key_and_ties_as_they_come() -> None:
    by_length = sorting("stats.collect_list", len)()
    assert by_length.compute_result(["plum", "fig", "pear", "nut"]) == ["fig", "nut", "plum", "pear"]
    longest_first = sorting("stats.collect_list", len, descending=True)()
    assert longest_first.compute_result(["plum", "fig", "pear", "nut"]) == ["plum", "pear", "fig", "nut"]


def test_without_a_key_payloads_are_in_the_order_of_their_values() -> None:
    by_value = sorting("stats.collect_list")()
    assert by_value.compute_result([2.0, nan, None, -0.0, 1.0])[:-1] == [0.0, 1.0, 2.0]


def test_a_sorting_module_reads_the_order_of_the_query_for_ties_of_a_key_alone() -> None:
    by_length = sorting("stats.collect_list", len)()
    by_value = sorting("stats.collect_list")()
    assert by_length.reads_order
    assert not by_value.reads_order
    assert not hasattr(by_length, "combine"), "it needs all payloads of a window at once"


def test_the_direction_of_an_order_is_in_the_version() -> None:
    assert sorting("stats.first", len).version != sorting("stats.first", len, descending=True).version


def test_a_key_takes_the_fields_of_a_record_and_ties_of_a_ranking_go_by_it() -> None:
    class Sale(NamedTuple):
        """A value and the amount that it is ranked by."""

        value: str
        by: int

    best = sorting("stats.top_by", lambda value, by: value)(1)
    for sales in ([Sale("b", 7), Sale("a", 7)], [Sale("a", 7), Sale("b", 7)]):
        assert [row.value for row in best.compute_result(sales)] == ["a"]
    assert best.with_order() is best


def test_sorted_payloads_have_their_order_over_windows_however_rows_arrive() -> None:
    query = WindowedQuery(tumbling(10), [Computation(sorting("stats.collect_list")())])
    for values in permutations((3, 1, 2)):
        script = Script()
        for at, value in enumerate(values):
            script = script.point(value, at, value)
        assert [row.value for row in script.close().run(query)[None]] == [([1, 2, 3],)]
