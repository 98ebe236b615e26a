"""Shipped packages that Spark has fetched for a worker and does not let it see.

On Spark Connect the tasks of a stream look for them in the folder of all files, and they lie in that of their session,
which is inside it (Spark 4.3).
"""

from __future__ import annotations

import sys
from importlib import invalidate_caches
from pathlib import Path

from muntin_engine.shipping.archives import is_archive_name, is_what_its_name_says


def find_fetched_archives() -> bool:
    """Have Python import from archives that are in a folder below the one where it looks; return whether there are any.

    The name of an archive ends with a hash of what is in it. A file of that name with other contents is passed over.
    """
    found = {place: path for place, entry in enumerate(sys.path) if (path := _fetched(Path(entry))) is not None}
    for place, path in found.items():
        sys.path[place] = str(path)
    invalidate_caches()
    return bool(found)


def _fetched(wanted: Path) -> Path | None:
    if not is_archive_name(wanted.name) or wanted.exists():
        return None
    return next(filter(is_what_its_name_says, sorted(wanted.parent.glob(f"*/{wanted.name}"))), None)
