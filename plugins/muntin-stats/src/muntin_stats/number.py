"""The numbers that statistics read: whole numbers and decimals as they are, which no float may hold, and floats."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias, TypeVar

Number: TypeAlias = int | float | Decimal

N = TypeVar("N", int, float, Decimal)
"""The type of a column of numbers."""

M = TypeVar("M", int, float, Decimal)
"""The type of a second column of numbers, which may be another."""
