"""A module with a default value in the place of null, or of no rows."""

from __future__ import annotations

from typing import Any, ClassVar

from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin.schemas import Field
from muntin_adapters.combinators.annotations import without_null
from muntin_adapters.combinators.wrapping import Delegating, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe


def with_default(module: str | type[Module], value: object) -> type[Any]:
    """Return a module with a default: the result where it would be null, or an operator's row where it has no rows.

    A window without members has no result, and so no default: there would be no end of such windows. Null is the result
    of a window whose payloads are all null, or of which none meets a condition.

    Args:
        module: Name or class of a module, whose parameters, capabilities and columnar form stay.
        value: Default, of the type of the module's result, or of a row.

    Raises:
        UnknownModuleError: No installed plugin offers the name.

    Example:
        >>> from muntin_adapters.combinators import filtering
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> below = with_default(filtering(Largest, lambda value: value < 10), 0.0)
        >>> below().compute_result([12.0])
        0.0
    """
    return _with_default(module_class(module), value)


class _WithDefault(Delegating):
    _default: ClassVar[Any]

    def _outer_result(self, result: Any) -> object:
        """Return the default in the place of null, or of no rows."""
        if self.is_operator:
            return list(result) or [self._default]
        return self._default if result is None else result

    def _columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the wrapped module's form with the default in the place of nulls; None where it has no form."""
        form: ColumnarAggregate[Any, Any] | None = self._module.columnar_form(reads)
        if form is None:
            return None
        from muntin_adapters.combinators.default_form import DefaultForm

        return DefaultForm(self._outer_form(form), self._default)


@records_recipe
def _with_default(cls: type[Module], value: object) -> type[Any]:
    """Make the class of a module that has a value as its result where it would be null, or have no rows."""
    payload, _, result = types_of(cls)
    # A default that is not null replaces every null. For an operator it is a row, and the nulls in other rows stay.
    if not cls.is_operator and value is not None:
        result, _ = without_null(result)
    form = {"columnar_form": _WithDefault._columnar_form} if hasattr(cls, "columnar_form") else {}
    return wrap(
        cls,
        _WithDefault,
        name_suffix="or_default",
        version_suffix=f"or {spell(value)}",
        payload=payload,
        result=result,
        attributes={"_default": value, "empty_result": value, **form},
    )
