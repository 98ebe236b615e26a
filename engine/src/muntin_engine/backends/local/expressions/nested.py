"""Arrays, maps and structs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.comparisons import in_one_type
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DuckdbExpression,
    any_raises,
    cast,
    common_type,
    unless_null,
)
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule


@rule(exp.Bracket)
def _translate_element(translator: Translator, node: exp.Bracket) -> DuckdbExpression:
    """Translate `xs[place]`, `m[key]`, `element_at` or `try_element_at`."""
    # sqlglot makes one kind of node of all of them, and gives that of `element_at` the part `offset`, and that of
    # `try_element_at` also the part `safe`.
    is_element_at = node.args.get("offset")
    container = translator.translate(node.this)
    (place_node,) = node.expressions
    if pa.types.is_map(container.type):
        return _value_at(translator, node, container, place_node)  # all of them mean the same for a map
    place = _place_in(translator, node, container, place_node)

    length = f"len({container.sql})"
    outside = translator.failure(node, f"'the index ' || {place.sql} || ' is outside of an array of ' || {length}")
    if is_element_at:
        # `element_at` counts from 1 on, as DuckDB does, or from the end if the place is below zero.
        zero = translator.failure(node, "'the index 0 is invalid: elements are counted from 1 on'")
        is_outside = f"ABS({place.sql}) > {length}"
        duckdb_place = f"(CASE WHEN {place.sql} = 0 THEN {zero} ELSE {place.sql} END)"
        if node.args.get("safe"):
            outside = "NULL"
    else:
        # Brackets count from 0 on.
        is_outside = f"{place.sql} < 0 OR {place.sql} >= {length}"
        duckdb_place = f"{place.sql} + 1"
    element = f"({container.sql})[{duckdb_place}]"
    is_null = f"{container.sql} IS NULL OR {place.sql} IS NULL"
    sql = f"(CASE WHEN {is_null} THEN NULL WHEN {is_outside} THEN {outside} ELSE {element} END)"
    return DuckdbExpression(sql, container.type.value_type, may_raise=True)


@function_rule("get", arguments=(2,))
def _translate_get(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `get(xs, place)`, which counts from 0 on, and is null outside of the array."""
    container = translator.translate(node.expressions[0])
    place = _place_in(translator, node, container, node.expressions[1])
    is_inside = f"{place.sql} >= 0 AND {place.sql} < len({container.sql})"
    sql = f"(CASE WHEN {is_inside} THEN ({container.sql})[{place.sql} + 1] END)"
    return DuckdbExpression(sql, container.type.value_type, may_raise=any_raises(container, place))


def _place_in(
    translator: Translator, node: exp.Expr, container: DuckdbExpression, place_node: exp.Expr
) -> DuckdbExpression:
    """Translate an operand that is a place in an array, as a bigint. NULL is a place without an element.

    Args:
        translator: The translator of the expression.
        node: The node that reads the array.
        container: The translated array.
        place_node: The operand.

    Raises:
        QueryError: The container is no array, or the operand is no whole number.
    """
    place = translator.translate(place_node)
    is_place = pa.types.is_integer(place.type)
    if pa.types.is_null(place.type):
        is_place = not node.args.get("offset")  # `element_at` has an offset, and Spark refuses element_at(xs, NULL)
    if not (pa.types.is_list(container.type) and is_place):
        raise translator.type_refusal(node, container, place)
    return cast(place, pa.int64())


def _value_at(
    translator: Translator, node: exp.Expr, container: DuckdbExpression, key_node: exp.Expr
) -> DuckdbExpression:
    """Translate the value of a map at a key; null if the map has no such key.

    Args:
        translator: The translator of the expression.
        node: The node that reads the map, for errors.
        container: The translated map.
        key_node: The key.

    Raises:
        QueryError: The key is not of the type of the map's keys.
    """
    key = translator.translate(key_node)
    if common_type(container.type.key_type, key.type) != container.type.key_type:
        raise translator.type_refusal(node, container, key)
    key = cast(key, container.type.key_type)
    sql = f"map_extract_value({container.sql}, {key.sql})"
    return DuckdbExpression(
        unless_null(container, key, sql), container.type.item_type, may_raise=any_raises(container, key)
    )


@rule(exp.ArraySize)
def _translate_size(translator: Translator, node: exp.ArraySize) -> DuckdbExpression:
    return _size(translator, node, node.this)


@function_rule("cardinality")
def _translate_cardinality(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    return _size(translator, node, node.expressions[0])


def _size(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Translate the number of elements of an array or a map; null for null."""
    container = translator.translate(operand)
    if pa.types.is_map(container.type):
        length = f"cardinality({container.sql})"
    elif pa.types.is_list(container.type):
        length = f"len({container.sql})"
    else:
        raise translator.type_refusal(node, container)
    sql = f"(CASE WHEN {container.sql} IS NOT NULL THEN CAST({length} AS INTEGER) END)"
    return DuckdbExpression(sql, pa.int32(), may_raise=container.may_raise)


@function_rule("map_entries")
def _translate_map_entries(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `map_entries(m)`: an array of structs of a key and its value; null for null."""
    container = translator.operand(node, node.expressions[0], pa.types.is_map)
    entry_type = pa.struct([("key", container.type.key_type), ("value", container.type.item_type)])
    sql = f"(CASE WHEN {container.sql} IS NOT NULL THEN map_entries({container.sql}) END)"
    return DuckdbExpression(sql, pa.list_(entry_type), may_raise=container.may_raise)


@rule(exp.ArraySort)
def _translate_array_sort(translator: Translator, node: exp.ArraySort) -> DuckdbExpression:
    """Translate `array_sort(xs)`, which puts nulls last."""
    container = translator.translate(node.this)
    # Newer versions of sqlglot make the same kind of node of `sort_array`, which puts nulls first.
    nulls_first = node.args.get("nulls_first")
    is_sort_array = nulls_first is not None and nulls_first.this
    if is_sort_array or not _has_order(node, container):
        raise translator.refusal(
            node,
            "sorts what is not known to have the same order without Spark",
            "write array_sort(xs) for numbers, text, times or booleans, or array_sort(map_entries(m))",
        )
    return DuckdbExpression(
        f"list_sort({container.sql}, 'ASC', 'NULLS LAST')", container.type, may_raise=container.may_raise
    )


def _has_order(node: exp.ArraySort, container: DuckdbExpression) -> bool:
    """True if both systems sort the elements of an array alike: they are not nested, or are the entries of a map.

    Entries are structs, which are compared by their keys first; no two keys of a map are equal.
    """
    if not pa.types.is_list(container.type):
        return False
    element_type = container.type.value_type
    is_of_map = isinstance(node.this, exp.Anonymous) and node.this.name.casefold() == "map_entries"
    if is_of_map:
        element_type = element_type.field("key").type
    return not (pa.types.is_nested(element_type) or pa.types.is_null(element_type))


@rule(exp.ArrayContains)
def _translate_array_contains(translator: Translator, node: exp.ArrayContains) -> DuckdbExpression:
    """Translate `array_contains(xs, x)`."""
    container = translator.translate(node.this)
    value = translator.translate(node.expression)
    is_list = pa.types.is_list(container.type)
    if not is_list or common_type(container.type.value_type, value.type) != container.type.value_type:
        raise translator.type_refusal(node, container, value)
    value = cast(value, container.type.value_type)
    # As in SQL, null is an unknown value: where the value is not found, a null among the elements may be it.
    has_nulls = f"list_count({container.sql}) < len({container.sql})"
    sql = (
        f"(CASE WHEN {container.sql} IS NULL OR {value.sql} IS NULL THEN NULL"
        f" WHEN list_contains({container.sql}, {value.sql}) THEN TRUE WHEN {has_nulls} THEN NULL ELSE FALSE END)"
    )
    return DuckdbExpression(sql, pa.bool_(), may_raise=any_raises(container, value))


@rule(exp.Array)
def _translate_array(translator: Translator, node: exp.Array) -> DuckdbExpression:
    """Translate `array(x, y, ...)`."""
    values = _of_one_type(translator, node, node.expressions)
    listed = ", ".join(value.sql for value in values)
    return DuckdbExpression(f"[{listed}]", pa.list_(values[0].type), may_raise=any_raises(*values))


@rule(exp.VarMap)
def _translate_map(translator: Translator, node: exp.VarMap) -> DuckdbExpression:
    """Translate `map(key, value, ...)`; a key that comes twice is an error when a row is computed."""
    keys = _of_one_type(translator, node, node.args["keys"].expressions)
    values = _of_one_type(translator, node, node.args["values"].expressions)
    listed_keys = ", ".join(key.sql for key in keys)
    listed_values = ", ".join(value.sql for value in values)
    return DuckdbExpression(
        f"MAP([{listed_keys}], [{listed_values}])", pa.map_(keys[0].type, values[0].type), may_raise=True
    )


def _of_one_type(translator: Translator, node: exp.Expr, operands: Sequence[exp.Expr]) -> list[DuckdbExpression]:
    """Translate the elements of an array, or the keys or values of a map, in the one type that they share.

    Raises:
        QueryError: There are no elements, or they share no type.
    """
    if not operands:
        raise translator.refusal(node, "is empty, so that its elements have no type", "write a column")
    return in_one_type(translator, node, operands)


@rule(exp.Struct)
def _translate_struct(translator: Translator, node: exp.Struct) -> DuckdbExpression:
    """Translate `named_struct(...)` or `struct(x AS a, ...)`."""
    fields: dict[str, DuckdbExpression] = {}
    for part in node.expressions:
        if not isinstance(part, exp.PropertyEQ):
            raise translator.refusal(node, "has a field without a name", "write named_struct('km', km)")
        name = part.this.name
        if name in fields:
            raise translator.refusal(node, f"has several fields {name}", "rename all but one of them")
        fields[name] = translator.translate(part.expression)
    listed = ", ".join(f"{quoted(name)} := {value.sql}" for name, value in fields.items())
    data_type = pa.struct([(name, value.type) for name, value in fields.items()])
    return DuckdbExpression(f"struct_pack({listed})", data_type, may_raise=any_raises(*fields.values()))
