"""Fenced blocks: what the tests read in an info string or the comment above becomes what a reader sees.

- ```` ```python file=src/plugin.py ```` gets the file's name as its title.
- ```` ```python no-run <why> ```` is plain Python; the reason is for whoever maintains the page.
- A block below `<!-- prints -->` or `<!-- shows -->` is marked as output.
"""

from __future__ import annotations

import re
from typing import Final

from docs.website.lines import lines_of

_OUTPUT: Final = re.compile(r"^<!-- *(prints|shows) *-->$")
_FILE: Final = re.compile(r"\bfile=(?P<name>\S+)")


def readable_fences(text: str) -> str:
    r"""Return a page's Markdown with fences as the site's highlighter takes them.

    Example:
        >>> print(readable_fences("<!-- prints -->\n```text\n42\n```"))
        ```{ .text .output }
        42
        ```
    """
    lines: list[str] = []
    is_output = False
    for kind, line in lines_of(text):
        if kind == "prose" and _OUTPUT.match(line):
            is_output = True
        elif kind == "opening":
            lines.append(_opening(line, is_output=is_output))
            is_output = False
        else:
            lines.append(line)
    return "\n".join(lines)


def _opening(line: str, *, is_output: bool) -> str:
    language, _, options = line.lstrip("`").partition(" ")
    ticks = line[: len(line) - len(line.lstrip("`"))]
    file = _FILE.search(options)
    if file:
        return f'{ticks}{language} title="{file["name"]}"'
    return f"{ticks}{{ .{language} .output }}" if is_output else f"{ticks}{language}"
