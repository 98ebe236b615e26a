"""Wheels of Python files, read into memory and checked as a whole before any of their code runs."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Final
from unicodedata import normalize

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from muntin.bounded_files import read_file, read_zip
from muntin.errors import CatalogFileError
from muntin.safe_text import cut, safe_message
from muntin.signatures import SignatureError, check_signature

MOST_BYTES: Final = 64 * 2**20
"""Bytes that a wheel may have, and its files together."""

_MOST_FILES: Final = 10_000
_SAFE_PATH: Final = re.compile(r"(?!.*(^|/)\.{1,2}(/|$))[\w.+!-]+(/[\w.+!-]+)*")
CODE_FILE: Final = re.compile(r"([^\W\d]\w*)(\.pyi?|/(.+\.pyi?|(.+/)?py\.typed))")
"""A file of Python below a folder or a name that can be imported, which is the first group."""

_NOT_HASHED: Final = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel whose files are those that its RECORD lists.

    Attributes:
        path: Where it was read.
        digest: The SHA-256 of the whole file, in hexadecimal digits.
        name: The normalized name of the distribution.
        version: Its version.
        python: The versions of Python that it is for.
        requires: The packages that it requires.
        files: What it holds, by path.
    """

    path: Path
    digest: str
    name: str
    version: str
    python: SpecifierSet
    requires: tuple[Requirement, ...]
    files: Mapping[str, bytes]


def read_wheel(path: Path, keys: frozenset[str] | None = None) -> Wheel:
    """Read a wheel of Python files, and check it, without importing anything of it.

    Args:
        path: The wheel.
        keys: The keys by one of which it must be signed, in the file of the same name with `.sig` after it.

    Raises:
        CatalogFileError: It is not signed so, is damaged, is not what it is called, or has more than Python files.
    """
    try:
        data = read_file(path, MOST_BYTES)
        if keys is not None:
            check_signature(data, path.with_name(f"{path.name}.sig"), keys)
        name, version, *_ = parse_wheel_filename(path.name)
        files = _files_of(data)
        info = next(file.rpartition("/")[0] for file in files if re.fullmatch(r"[^/]+\.dist-info/METADATA", file))
        metadata = HeaderParser().parsestr(files[f"{info}/METADATA"].decode())
        folder = info.removesuffix(".dist-info").rpartition("-")
        for said, release in ((str(metadata["Name"]), str(metadata["Version"])), folder[::2]):
            if (canonicalize_name(said), Version(release)) != (name, version):
                raise ValueError(f"its metadata say that it is {said} {release}")
        _check_record(files, info)
        if others := [file for file in files if not file.startswith(f"{info}/") and not CODE_FILE.fullmatch(file)]:
            raise ValueError(
                f"workers would not get {others[0]}: a package of more than Python files must be installed"
            )
        python = SpecifierSet(metadata["Requires-Python"] or "")
        requires = tuple(map(Requirement, metadata.get_all("Requires-Dist", [])))
    except (SignatureError, ValueError) as error:
        raise CatalogFileError(path, cut(str(error))) from error
    except Exception as error:  # whatever bytes that are no wheel lead to
        raise CatalogFileError(path, f"it cannot be read as a wheel: {safe_message(error, 200)}") from error
    return Wheel(path, hashlib.sha256(data).hexdigest(), name, str(metadata["Version"]), python, requires, files)


def spelled_hash(data: bytes) -> str:
    """Return the SHA-256 of a file as RECORD has it."""
    return f"sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()}"


def _files_of(data: bytes) -> dict[str, bytes]:
    files = read_zip(io.BytesIO(data), MOST_BYTES, _MOST_FILES)
    seen: dict[str, str] = {}
    for name in files:
        if not _SAFE_PATH.fullmatch(name):
            raise ValueError(f"it holds {name!r}, outside of the folder where it is unpacked")
        if (twin := seen.setdefault(normalize("NFC", name).casefold(), name)) != name:
            raise ValueError(f"it holds {twin!r} and {name!r}, which some file systems take for one file")
    return files


def _check_record(files: Mapping[str, bytes], info: str) -> None:
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(files[f"{info}/RECORD"].decode())) if row}
    for name in sorted({*files, *rows} - {f"{info}/{own}" for own in _NOT_HASHED}):
        if name not in files or rows.get(name) != spelled_hash(files[name]):
            raise ValueError(f"{name} in it is not what its RECORD lists: it is damaged, or was changed")
