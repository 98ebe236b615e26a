"""The records of modules that compare two streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from muntin.frozen import subscriptable

V = TypeVar("V")


@subscriptable
@dataclass(frozen=True, slots=True)
class Left(Generic[V]):
    """A value of the left stream; null does not count."""

    value: V | None


@subscriptable
@dataclass(frozen=True, slots=True)
class Right(Generic[V]):
    """A value of the right stream; null does not count."""

    value: V | None
