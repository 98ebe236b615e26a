"""How modules reach the workers: packages that are shipped, and code of no package, which travels with the query."""

from muntin_engine.shipping.shipping import ship

__all__ = ["ship"]
