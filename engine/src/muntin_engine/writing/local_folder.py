"""A folder of the driver's own file system: its path, whose it is, and files that are replaced as a whole."""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from typing import Any, Final

from muntin import QueryError

_OWNER: Final = "_muntin.json"


def address(path: Path) -> str:
    """Return the name of a path for Spark, whose default file system may be another; it reads no escapes in it."""
    return f"file://{path}"


class LocalFolder:
    """A folder that one query fills.

    Renaming is what makes a micro-batch visible at once, so the path must be one that this process can rename on: a
    disk of the machine, or one that the driver and the workers share.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Take a path.

        Raises:
            QueryError: It is a URL.
        """
        text = os.fspath(path)
        if "://" in text or not text:
            raise QueryError(
                f"{text!r} is not a path of this machine's file system, in which folders are put in place by renaming\n"
                "  expected a path such as 'results'; write elsewhere with a function (batch, batch_id), which is\n"
                "  given each micro-batch with its number"
            )
        self.path: Final = Path(text).absolute()

    def check(self) -> None:
        """Refuse a folder that holds what no query of ours has written.

        Raises:
            QueryError: It does, or is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            raise QueryError(f"{self.path} is a file\n  expected a folder, or a path where there is nothing yet")
        names = sorted(part.name for part in self.path.glob("[!.]*"))
        if names and _OWNER not in names:
            raise QueryError(f"{self.path} holds {names[0]!r}, which no query wrote\n  expected an empty folder")

    def claim(self, query_id: str) -> None:
        """Make the folder, if need be, and see that it belongs to a query.

        Raises:
            QueryError: It belongs to another one.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        owner = self.read(_OWNER)
        if owner is None:
            self.replace(_OWNER, {"query": query_id})
        elif owner["query"] != query_id:
            raise QueryError(
                f"{self.path} holds the output of another query: of {owner['query']}, and this one is {query_id}\n"
                "  a query that starts with a new checkpoint is another one, and counts its micro-batches from 0\n"
                "  choose an empty folder, delete this one, or go on with its checkpoint"
            )

    def read(self, name: str) -> Any:
        """Return what a file says; None if it is not there."""
        file = self.path / name
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None

    def replace(self, name: str, data: Any) -> None:
        """Write a file so that readers see the old text or the new one, never a part."""
        partial = self.path / f".{name}.partial"
        partial.write_text(json.dumps(data), encoding="utf-8")
        partial.replace(self.path / name)
