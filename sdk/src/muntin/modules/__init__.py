"""Base classes of modules, which `muntin` has, and the capabilities that a module may have."""

from muntin.modules.capabilities import (
    SupportsColumns,
    SupportsCombine,
    SupportsDeduct,
    SupportsRemove,
    SupportsUpgrade,
)

__all__ = [
    "SupportsColumns",
    "SupportsCombine",
    "SupportsDeduct",
    "SupportsRemove",
    "SupportsUpgrade",
]
