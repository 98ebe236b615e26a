"""The catalog: what installed plugins offer by name, and the hooks by which they offer it."""

from muntin.catalog.catalog import Catalog, Plugin, installed

__all__ = ["Catalog", "Plugin", "installed"]
