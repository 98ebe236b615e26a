"""Refuse misspelt class attributes, such as `output_contract` for `contract`, which nothing reads."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from muntin.errors import ModuleDefinitionError

_REQUIRED: Final = frozenset({"name", "version", "title"})
"""Attributes that each class has to set. An attribute such as `names` beside them is therefore no misspelling."""

_OPTIONAL: Final[Mapping[str, object]] = {"state_bytes": 0, "empty_result": None}
"""Attributes that are read if a class has them, though not every base class has them, with their defaults."""

_CLOSE: Final = 0.8
"""The least likeness of two names of which one may be a misspelling of the other."""


def check_attributes(cls: type, label: str) -> None:
    """Refuse a class attribute that nothing reads, if it plainly is a misspelling of one that is read.

    An attribute is taken for a misspelling of another one if the names are similar and the values are of the same type.
    An attribute whose value is a policy of Muntin is always taken for one, as policies are only read under their own
    names.

    Args:
        cls: A class of a module or of windows.
        label: The name of the module or the windows, for the message.

    Raises:
        ModuleDefinitionError: There is such an attribute.
    """
    defaults = _defaults_of_attributes(cls)
    for parent in cls.__mro__:
        if _is_of_muntin(parent):
            continue
        for attribute, value in vars(parent).items():
            if attribute.startswith("_") or attribute in defaults or attribute in _REQUIRED or _is_code(value):
                continue
            intended = _intended_attribute(attribute, value, defaults)
            if intended is not None:
                raise ModuleDefinitionError(
                    f"{label} sets {attribute} = {value!r}, which nothing reads; did you mean {intended}?\n"
                    f"  write {intended} = ..., or rename it if it is an attribute of your own, for example "
                    f"my_{attribute}"
                )


def _defaults_of_attributes(cls: type) -> dict[str, object]:
    """Return the attributes that a class may set, or leave out, with their defaults."""
    attributes = dict(_OPTIONAL)
    for parent in cls.__mro__:
        if not _is_of_muntin(parent):
            continue
        # What one of Muntin's classes defines is read by Muntin, unless it is private or a method.
        for attribute, default in vars(parent).items():
            is_read = not attribute.startswith("_") and not callable(default)
            if is_read and attribute not in _REQUIRED:
                attributes.setdefault(attribute, default)
    return attributes


def _intended_attribute(attribute: str, value: object, defaults: Mapping[str, object]) -> str | None:
    """Return the attribute that the writer of a class meant to set; None if the attribute is the writer's own.

    Args:
        attribute: The name that the class sets, which nothing reads.
        value: Its value.
        defaults: The attributes that are read, with their defaults.
    """
    # Each policy of Muntin belongs into one attribute, however the writer has called it.
    for candidate, default in defaults.items():
        is_policy = type(default).__module__.partition(".")[0] == "muntin" and not _is_code(default)
        if is_policy and type(value) is type(default):
            return candidate

    similar_names = difflib.get_close_matches(attribute, defaults, n=1, cutoff=_CLOSE)
    if not similar_names:
        return None
    similar_name = similar_names[0]
    # A default of None, or one that is computed, does not tell the type.
    default = defaults[similar_name]
    has_its_type = default is None or _is_code(default) or isinstance(value, type(default))
    return similar_name if has_its_type else None


def _is_of_muntin(cls: type) -> bool:
    """Return True for a class that the writer of a plugin did not write: of Muntin, or built in."""
    return cls.__module__.partition(".")[0] in ("muntin", "builtins")


def _is_code(value: Any) -> bool:
    """Return True for methods, properties and the like, which are looked up on an instance."""
    return callable(value) or hasattr(type(value), "__get__")
