"""Frozen dataclasses whose type variables may be given where an object is made: `Event[int](1, 5, 3)`."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

from typing_extensions import TypeVar

T = TypeVar("T")


def subscriptable(cls: type[T]) -> type[T]:
    """Let a generic dataclass that is frozen and has slots be called with its type variables, as any generic class is.

    `Event[int](1, 5, 3)` makes the object, and then `typing` notes `Event[int]` in it, and goes on where that raises an
    AttributeError. The method that `dataclass` generates raises a TypeError there: its `super()` names the class before
    it was given slots, of which the object is none. This one raises the error that a frozen dataclass promises.

    Example:
        >>> from dataclasses import dataclass
        >>> from typing import Generic
        >>> @subscriptable
        ... @dataclass(frozen=True, slots=True)
        ... class Box(Generic[T]):
        ...     content: T
        >>> Box[int](3)
        Box(content=3)
    """
    dataclass: Any = cls
    names = frozenset(field.name for field in fields(dataclass))

    def refuse_or_set(self: object, name: str, value: object) -> None:
        # A subclass may have attributes that are no fields.
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    dataclass.__setattr__ = refuse_or_set
    return cls
