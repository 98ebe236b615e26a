"""Results that may be retracted, added up in this process."""

from __future__ import annotations

from typing import Any, NoReturn

from muntin_engine.backends.local.refusals import not_yet
from muntin_engine.sinks.distributed_rows import Changelogs


class LocalChangelogs(Changelogs):
    """Refuses to add up changelogs."""

    def fold(self, changelog: Any, key: Any) -> NoReturn:
        """Refuse it."""
        del changelog, key
        raise not_yet("fold()")

    def net_changes(self, batch: Any, key: Any) -> NoReturn:
        """Refuse it."""
        del batch, key
        raise not_yet("net_changes()")

    def final_rows(self, results: Any, watermark: int | None, key: Any) -> NoReturn:
        """Refuse it."""
        del results, watermark, key
        raise not_yet("final_rows()")

    def live_rows(self, changelog: Any, key: Any, table: Any = None) -> NoReturn:
        """Refuse it."""
        del changelog, key, table
        raise not_yet("a table of live rows")

    def settled_rows(self, table: Any, watermark: int | None, *, is_revisable: bool) -> NoReturn:
        """Refuse it."""
        del table, watermark, is_revisable
        raise not_yet("a table of settled rows")
