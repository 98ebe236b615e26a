"""The identity of a query: the properties that its state depends on, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

QueryIdentity: TypeAlias = Mapping[str, Any]
"""By name, each as plain data of a kind of its own: keys, windows, modules and so on."""
