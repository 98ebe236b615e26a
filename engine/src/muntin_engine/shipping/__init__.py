"""Ship modules to the workers: packages, and code of no package, which is pickled with the query."""

from muntin_engine.shipping.shipping import ship

__all__ = ["ship"]
