"""An extension of griffe, which mkdocstrings reads docstrings with; `mkdocs.yml` names it."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Read `Example:` as the section `Examples:`, whose lines are shown as code; griffe would make prose of them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, when an object has been read."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
