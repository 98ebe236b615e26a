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
        folder: Folder; where it is on `sys.path`, the distribution is installed.
        name: Name of the distribution.
        files: Contents of files, by their paths.
        plugin: Name of its plugin, whose module is the last of the files.
        requires: Names of distributions that it requires.
        version: Version of the distribution.
    """
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    contents = {**files, f"{info}/METADATA": "\n".join([*metadata, ""])}
    if plugin is not None:
        module = list(files)[-1].removesuffix(".py").replace("/", ".")
        contents[f"{info}/entry_points.txt"] = f"[muntin]\n{plugin} = {module}\n"
    record = f"{info}/RECORD"
    contents[record] = "".join(f"{path},,\n" for path in [*contents, record])
    for path, text in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
