"""Parameters of modules as text that a checkpoint can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final

_PLAIN: Final = (bool, int, float, str, bytes, type(None))


def spell_parameter(value: Any) -> str:
    """Return a parameter as text that is the same in every process, without addresses or the order of a set.

    Example:
        >>> spell_parameter({"labels": {"b", "a"}, "of": len})
        "{'labels': {'a', 'b'}, 'of': <builtins.len>}"
    """
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_spell(name)}: {_spell(part)}' for name, part in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_spell, value)))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spell, value))}]"
    if is_dataclass(value) and not isinstance(value, type):
        parts = ", ".join(f"{field.name}={_spell(getattr(value, field.name))}" for field in fields(value))
        return f"{type(value).__qualname__}({parts})"
    named = value if hasattr(value, "__qualname__") else type(value)
    shows_address = named is value or object.__repr__ is getattr(type(value), "__repr__")  # noqa: B009
    return f"<{named.__module__}.{named.__qualname__}>" if shows_address else repr(value)


_spell = spell_parameter
