"""Check the definition of windows of one's own: that a plugin can offer them, and a checkpoint knows them again."""

from __future__ import annotations

from typing import Any

from muntin.errors import ModuleDefinitionError
from muntin.modules.methods import check_name, undefined_methods
from muntin.windows.specification import WindowSpecification


def check_kind(cls: type[WindowSpecification]) -> None:
    """Raise unless a plugin can offer windows, and a query use them, under a name and a version of their own."""
    for attribute in ("name", "version"):
        of = next((base for base in cls.__mro__ if attribute in vars(base)), cls)
        if of is not cls:
            raise ModuleDefinitionError(
                f"{cls.__qualname__} has the {attribute} {getattr(cls, attribute)!r} of {of.__qualname__}\n"
                "  a checkpoint tells windows apart by name and version, so set both: name = 'shop.visits', version = "
                "'1.0'"
            )
    name = check_name(getattr(cls, "name", None), cls.__qualname__)
    parameters: Any = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ModuleDefinitionError(f"{name} is no frozen dataclass\n  expected: @dataclass(frozen=True, slots=True)")
    if missing := getattr(cls, "__abstractmethods__", ()):
        raise undefined_methods(cls, name, missing)
    for attribute, example in (("version", "1.0"), ("title", "windows between sales")):
        value = getattr(cls, attribute, None)
        if not isinstance(value, str) or not value:
            fault = f"has no {attribute}" if value in (None, "") else f"has the {attribute} {value!r}, which is no text"
            raise ModuleDefinitionError(f"{name} {fault}\n  set the class attribute: {attribute} = {example!r}")
    known: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    unknown = sorted(set(cls.lengths) - set(known))
    if unknown:
        raise ModuleDefinitionError(f"{name} has the lengths {unknown}, which are none of its fields")
