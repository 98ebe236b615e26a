"""What is wrong with a built distribution: metadata that lack something, a page that cannot be read, stray files."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata
from readme_renderer.markdown import render

_FIELDS: Final = (
    *("summary", "description", "description_content_type", "license_expression", "license_files"),
    *("keywords", "classifiers", "requires_python", "author"),
)
_SHORTEST: Final = 60
"""The words that tell a reader who knows nothing of the repository what a distribution is for."""
_TARGET: Final = re.compile(r'(?:href|src)="(?P<target>[^"]*)"')
_TEMPLATE: Final = "muntin_cli/template/"
_STRAY: Final = re.compile(r"(^|/)(tests/|test_[^/]*$|conftest\.py$|__pycache__/|[^/]*\.pyc$)")


def faults_of(built: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel or a source distribution, a line for each fault.

    Args:
        built: Its path, which ends with `.whl` or `.tar.gz`.
    """
    is_wheel = built.suffix == ".whl"
    files = _files_of(built)
    said = next((data for name, data in files.items() if re.search(r"(^|/)(METADATA|PKG-INFO)$", name)), b"")
    try:
        metadata = Metadata.from_email(said)
    except ExceptionGroup as group:
        yield from (f"its metadata are invalid: {error}" for error in group.exceptions)
        return
    yield from (f"its metadata have no {field}" for field in _FIELDS if not getattr(metadata, field))
    yield from _faults_of_page(metadata.description or "", metadata.description_content_type or "")
    texts = [name for name in files for text in metadata.license_files or () if name.endswith(f"/{text}")]
    if len(texts) < len(metadata.license_files or ()):
        yield f"it has no file {', '.join(metadata.license_files or ())}"
    if is_wheel:
        yield from _faults_of_files(files)


def _faults_of_page(text: str, kind: str) -> Iterator[str]:
    """Yield what is wrong with the long description, which a package index shows as the page of the distribution."""
    if kind.partition(";")[0] != "text/markdown":
        yield f"its long description is {kind or 'of no type'}, and an index is to show it as Markdown"
        return
    page = render(text)
    if page is None:
        yield "its long description cannot be rendered"
        return
    if not re.match(r"# \S", text):
        yield "its long description does not begin with a title"
    if len(text.split()) < _SHORTEST:
        yield f"its long description has {len(text.split())} words, which say too little"
    if "pip install" not in text:
        yield "its long description does not say how to install it"
    for found in _TARGET.finditer(page):
        if not found["target"].startswith(("https://", "#")):
            yield f"its long description links to {found['target']}, which is not there on an index"


def _faults_of_files(files: Mapping[str, bytes]) -> Iterator[str]:
    code = [name for name in files if ".dist-info/" not in name and not name.startswith(_TEMPLATE)]
    yield from (f"it has {name}, which nobody imports" for name in code if _STRAY.search(name))
    for top in sorted({name.partition("/")[0] for name in code}):
        if f"{top}/py.typed" not in files:
            yield f"{top} has no py.typed, so type checkers ignore its types"


def _files_of(built: Path) -> dict[str, bytes]:
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(built) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: reader.read() for member in members if (reader := archive.extractfile(member))}
