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
from muntin_adapters.made import maker
from muntin_adapters.spreading import FieldsOf


def skipping_nulls(module: str | type[Module]) -> type[Any]:
    """Return a module that sees neither null payloads nor those with a null field, so that columns may have nulls.

    The result is null where nothing else is there; an operator then has no rows.

    Args:
        module: A module's name or class. Its parameters and its capabilities stay, and so does a columnar form that
            leaves nulls out and gives null where all are.

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
        """Return the wrapped module's, with nulls."""
        field = cls._wrapped.input_field()
        if isinstance(field.type, OneOf):
            return replace(field, type=OneOf(tuple(map(_with_nulls, field.type.inputs))))
        return replace(_with_nulls(field), is_nullable=True)

    def _see(self, members: Sequence[Any]) -> Sequence[object]:
        return [member for member in members if not self._is_null(self._payload_of(member))]

    def _is_null(self, payload: object) -> bool:
        kind = self._wrapped.input_field().type
        if isinstance(kind, OneOf):
            part = kind.input_of(payload)
            kind = kind if part is None else part.type
        if payload is None or not isinstance(kind, Struct):
            return payload is None
        return any(part is None for part in FieldsOf(tuple(part.name for part in kind.fields))(payload))

    def _columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        form: ColumnarAggregate[Any, Any] | None = self._module.columnar_form(replace(reads, is_nullable=False))
        fits = form is not None and form.skips_nulls and form.empty_result is None
        return self._outer_form(form) if form is not None and fits else None


@maker
def _skipping_nulls(cls: type[Module]) -> type[Any]:
    payload, _, result = types_of(cls)
    form = {"columnar_form": _SkippingNulls._columnar_form} if hasattr(cls, "columnar_form") else {}
    return wrap(
        cls,
        _SkippingNulls,
        ("of_present", "without nulls"),
        payload if cls.input_fields() else with_null(payload),
        result if cls.is_operator else with_null(result),
        form,
    )


def _with_nulls(field: Field) -> Field:
    """Return a type with nulls: of a record, in its fields."""
    if not isinstance(field.type, Struct):
        return replace(field, is_nullable=True)
    parts = tuple(replace(part, is_nullable=True) for part in field.type.fields)
    return replace(field, type=Struct(parts, field.type.make))
