"""Notebooks as pages: what code hosts show of a `.ipynb`, as Markdown."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Final

_TITLE: Final = re.compile(r"<title>(?P<title>.*?)</title>")


def markdown_of(notebook: str) -> str:
    r"""Return a notebook as a page: its prose, its code, and what the code prints and shows.

    Example:
        >>> printed = {"output_type": "stream", "name": "stdout", "text": ["2\n"]}
        >>> cell = {"cell_type": "code", "source": ["print(1 + 1)"], "outputs": [printed]}
        >>> print(markdown_of(json.dumps({"cells": [cell]})))
        ```python
        print(1 + 1)
        ```
        <BLANKLINE>
        <!-- prints -->
        ```text
        2
        ```
        <BLANKLINE>
    """
    return "\n\n".join(part for cell in json.loads(notebook)["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for output in cell.get("outputs", ()):
        yield _shown(output)


def _shown(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"<!-- prints -->\n```text\n{''.join(output['text'])}```"
    data = {kind: "".join(lines) for kind, lines in output["data"].items()}
    if "image/svg+xml" in data:
        svg = data["image/svg+xml"]
        title = _TITLE.search(svg)
        address = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
        return f'<img alt="{title["title"] if title else "a picture"}" src="{address}">'
    return data.get("text/html") or f"<!-- shows -->\n```text\n{data['text/plain']}\n```"
