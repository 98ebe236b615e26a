"""An extension of griffe, which mkdocstrings reads docstrings with; `mkdocs.yml` names it."""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

_LABEL: Final = re.compile(r"^(?P<label>Types|Nulls|NaN|Laws?|Cost|Source): ?(?P<text>.*)$")
"""The first line of a paragraph of our own, such as `Cost: one shuffle`; its other lines may be indented."""


class ExampleSections(griffe.Extension):
    """Have docstrings shown as they are meant, where griffe would read them otherwise.

    It would make prose of `Example:`, which is the section `Examples:`, and a box of a paragraph that begins with a
    label of ours, such as `Cost:`, and goes on indented.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring, when an object has been read."""
        if obj.docstring is not None:
            text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = with_labelled_paragraphs(text)


def with_labelled_paragraphs(docstring: str) -> str:
    r"""Return a docstring in which each paragraph with a label is one of Markdown, with the label in bold.

    Example:
        >>> print(with_labelled_paragraphs("Add up.\n\nTypes: int to int; float\n    to float.\nNaN: the sum is NaN."))
        Add up.
        <BLANKLINE>
        **Types:** int to int; float
        to float.
        <BLANKLINE>
        **NaN:** the sum is NaN.
    """
    lines: list[str] = []
    is_labelled = False
    for line in docstring.splitlines():
        found = _LABEL.match(line)
        if found:
            if lines and lines[-1]:
                lines.append("")
            lines.append(f"**{found['label']}:** {found['text']}".rstrip())
            is_labelled = True
        elif is_labelled and line.startswith("    "):
            lines.append(line.strip())
        else:
            is_labelled = False
            lines.append(line)
    return "\n".join(lines)
