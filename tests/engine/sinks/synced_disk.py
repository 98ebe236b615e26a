"""A disk that remembers what was synced."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Disk:
    """A disk of which a loss of power leaves the files that were synced, under the names that synced folders had.

    Attributes:
        files: The inodes of all that was synced.
        names: The names in each synced folder at the time, by its inode, each with the inode that it named.
    """

    files: set[int] = field(default_factory=set)
    names: dict[int, dict[str, int]] = field(default_factory=dict)

    def sync(self, descriptor: int) -> None:
        """Take the place of `os.fsync`."""
        inode = os.fstat(descriptor).st_ino
        self.files.add(inode)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            self.names[inode] = {entry.name: entry.inode() for entry in os.scandir(descriptor)}

    def lost(self, folder: Path) -> list[str]:
        """Return the files and folders in a folder that a loss of power would take, or leave without content."""
        lost_paths: list[str] = []
        for path in folder.rglob("*"):
            inode = path.stat().st_ino
            synced_names = self.names.get(path.parent.stat().st_ino, {})
            has_content = inode in self.files
            has_name = synced_names.get(path.name) == inode
            if not has_content or not has_name:
                lost_paths.append(str(path.relative_to(folder)))
        return lost_paths
