"""Read files that others write: no more than a given size, however they are made."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from typing import IO, Final

_INFLATED_BY_PART: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_file(path: Path, most_bytes: int) -> bytes:
    """Return the contents of a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, which may have no end or never come, or has more bytes.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("it is no regular file")
    with path.open("rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"it has more than {most_bytes:,} bytes")
    return data


def read_zip(file: Path | IO[bytes], most_bytes: int, most_files: int) -> dict[str, bytes]:
    """Return the files in a ZIP archive, by their paths; no more is inflated than its directory says.

    Raises:
        ValueError: They are too many or too large, two have one path, or one is compressed, but not by Deflate.
        Exception: It is damaged, encrypted, or no ZIP archive.
    """
    with zipfile.ZipFile(file) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        size = sum(info.file_size for info in infos)
        if size > most_bytes or len(infos) > most_files:
            raise ValueError(
                f"its {len(infos):,} files take {size:,} bytes when they are inflated\n"
                f"  expected: at most {most_files:,} files of {most_bytes:,} bytes together"
            )
        found: dict[str, bytes] = {}
        for info in infos:
            if info.filename in found or info.compress_type not in _INFLATED_BY_PART:
                fault = "twice" if info.filename in found else "compressed, but not by Deflate"
                raise ValueError(f"it holds {info.filename!r} {fault}")
            with archive.open(info) as entry:  # archive.read(info) inflates all there is before it is cut to size
                found[info.filename] = entry.read(info.file_size)
        return found
