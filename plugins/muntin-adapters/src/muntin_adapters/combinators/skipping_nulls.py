"""A module over the payloads that are not null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.module import Module
from muntin.schemas import Field, OneOf, Struct
from muntin_adapters.combinators.annotations import with_null
from muntin_adapters.combinators.wrapping import Counting, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import FieldsOf


def skipping_nulls(module: str | type[Module]) -> type[Any]:
    """Return a module that sees neither null payloads nor payloads with a null field, so that columns may have nulls.

    The result is null where there are no other payloads; an operator then has no rows.

    Args:
        module: Name or class of a module, whose parameters and capabilities stay. So does a columnar form that leaves
            nulls out and whose result is null where all payloads are.

    Raises:
        UnknownModuleError: No installed plugin offers the name.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> skipping_nulls(Largest)().compute_result([3.0, None, 2.0])
        3.0
    """
    return _skipping_nulls(module_class(module))


class _SkippingNulls(Counting):
    @classmethod
    def input_field(cls) -> Field:
        """Return the wrapped module's input field, with nulls."""
        field = cls._wrapped.input_field()
        if isinstance(field.type, OneOf):
            return replace(field, type=OneOf(tuple(map(_with_nulls, field.type.inputs))))
        return replace(_with_nulls(field), is_nullable=True)

    def _inner_members(self, members: Sequence[Any]) -> Sequence[object]:
        return [member for member in members if not self._has_null(self._payload_of(member))]

    def _has_null(self, payload: object) -> bool:
        """True for a null, and for a record with a null field."""
        if payload is None:
            return True
        # With several inputs, the class of the payload says which record it is.
        data_type = self._wrapped.input_field().type
        if isinstance(data_type, OneOf):
            input_field = data_type.input_of(payload)
            if input_field is not None:
                data_type = input_field.type
        if not isinstance(data_type, Struct):
            return False
        fields_of = FieldsOf(tuple(field.name for field in data_type.fields))
        return any(value is None for value in fields_of(payload))

    def _columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the wrapped module's form on arrays, if that skips nulls as this module does."""
        form: ColumnarAggregate[Any, Any] | None = self._module.columnar_form(replace(reads, is_nullable=False))
        # A form that skips nulls needs no wrapping. Its result has to be null where all payloads were null, as the
        # result of `Counting` is.
        if form is None or not form.skips_nulls or form.empty_result is not None:
            return None
        return self._outer_form(form)


@records_recipe
def _skipping_nulls(cls: type[Module]) -> type[Any]:
    """Make the class of a module over the payloads that are not null and have no null field."""
    payload, _, result = types_of(cls)
    form = {"columnar_form": _SkippingNulls._columnar_form} if hasattr(cls, "columnar_form") else {}
    return wrap(
        cls,
        _SkippingNulls,
        name_suffix="of_present",
        version_suffix="without nulls",
        payload=payload if cls.input_fields() else with_null(payload),
        result=result if cls.is_operator else with_null(result),
        attributes=form,
    )


def _with_nulls(field: Field) -> Field:
    """Return a field that may be null; a record's fields may be null instead."""
    if not isinstance(field.type, Struct):
        return replace(field, is_nullable=True)
    parts = tuple(replace(part, is_nullable=True) for part in field.type.fields)
    return replace(field, type=Struct(parts, field.type.make))
