"""Packages that are installed into a folder, without pip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION = "0.3.0"


def install(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    *,
    plugin: str | None = None,
    requires: Sequence[str] = (),
    version: str = VERSION,
) -> None:
    """Write a distribution of Python files, as `pip install --target` leaves it.

    Args:
        folder: Where; on `sys.path`, it is installed.
        name: The distribution's name.
        files: What they hold, by path.
        plugin: The name of its plugin, whose module is the last of the files.
        requires: What it requires.
        version: Its version.
    """
    metadata = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {other}" for other in requires)]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    said = {f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", *metadata, ""])}
    if plugin is not None:
        module = list(files)[-1].removesuffix(".py").replace("/", ".")
        said[f"{info}/entry_points.txt"] = f"[muntin]\n{plugin} = {module}\n"
    written = {**files, **said, f"{info}/RECORD": ""}
    written[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in written)
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
