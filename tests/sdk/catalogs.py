"""Catalog folders of tests, and a process that forgets them again."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from muntin import catalog, catalog_folder
from muntin.wheels import spelled_hash
from muntin_cli.packing import put, wheel_from

MODULES = '''
"""Spreads of rides."""
from muntin import Aggregate

class Spread(Aggregate[float, float]):
    """Return the widest less the shortest."""
    name, version = "{plugin}.spread", "{version}"
    def compute_result(self, payloads: list[float]) -> float:
        return {returns}
'''

_PACKED: dict[str, tuple[str, bytes]] = {}


def source_of(version: str = "1.2.0", plugin: str = "km", returns: str = "max(payloads) - min(payloads)") -> str:
    return MODULES.format(plugin=plugin, version=version, returns=returns)


def pack_into(folder: Path, source: str, key: Path | None = None) -> Path:
    """Pack a source, and put it into a catalog."""
    if source not in _PACKED:
        file = folder.parent / "my_modules.py"
        file.write_text(source, encoding="utf-8")
        _PACKED[source] = wheel_from(file)
    return put(folder, *_PACKED[source], key)


def changed(
    wheel: Path, files: Mapping[str, str], *, with_record: bool = True, renamed: tuple[str, str] = ("", "")
) -> Path:
    """Give a wheel other files, by the end of their paths, with or without a RECORD that says so; rename a folder."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name.replace(*renamed): archive.read(name) for name in archive.namelist()}
    for end, text in files.items():
        name = next((name for name in held if name.endswith(end)), end)
        held[name] = text.encode()
    record = next(name for name in held if name.endswith("/RECORD"))
    if with_record:
        rows = io.StringIO()
        csv.writer(rows).writerows(
            (name, spelled_hash(data), len(data)) for name, data in held.items() if name != record
        )
        held[record] = rows.getvalue().encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in held.items():
            archive.writestr(name, data)
    return wheel


def forget() -> None:
    """Be a new process, which has imported nothing of a catalog."""
    folders = [unpacked.folder for unpacked in catalog_folder._UNPACKED.values()]
    catalog_folder._UNPACKED.clear()
    catalog._REFUSED.clear()
    catalog.installed.cache_clear()
    sys.path[:] = [entry for entry in sys.path if entry not in folders]
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(tuple(folders) or ("no folder",)):
            del sys.modules[name]


def forgetting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(catalog_folder.FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv(catalog_folder.KEYS_VARIABLE, raising=False)
    path = list(sys.path)
    forget()
    yield
    forget()
    sys.path[:] = path
