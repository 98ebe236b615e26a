"""A story as one HTML page, which asks no host for anything."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin.pictures.canvas import DARK, LIGHT
from muntin_cli.story_page.packing import packed

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story

_ASSETS: Final = Path(__file__).parent / "assets"
_SCRIPTS: Final = (
    *("ticks", "data", "story", "filters", "bands", "marks", "crowd", "drawing", "sight"),
    *("overview", "words", "details", "tables", "matches", "stepping", "keyboard", "chain", "main"),
)
"""Our own scripts, in the order in which they are joined to one."""


def page_of(story: Story, live: bool = False) -> str:
    """Return the page of a story.

    Args:
        story: The story.
        live: True if the page is to ask its server now and then whether the story has gone on.
    """
    style = f":root{{{LIGHT}}}\n{_dark()}\n{_read('style.css')}"
    our_scripts = [_read(f"{name}.js") for name in _SCRIPTS]
    script = "\n".join([_read("d3.min.js"), '(() => {\n"use strict";', *our_scripts, "})();"])
    connections = "'self'" if live else "'none'"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        f"connect-src {connections}; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "TITLE": escape(story.title),
        "POLICY": policy,
        "STYLE": style,
        "DATA": embedded(packed(story)),
        "LIVE": "true" if live else "false",
        "SCRIPT": script,
    }
    # Each part is put in once: what looks like a placeholder within it stays.
    return re.sub(r"\{\{(\w+)\}\}", lambda placeholder: parts[placeholder[1]], _read("page.html"))


def embedded(data: Any) -> str:
    r"""Return data as JSON that cannot end the element it stands in, whatever text is in it.

    Example:
        >>> embedded(["</script>", "<!--"])
        '["\\u003c/script\\u003e","\\u003c!--"]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _read(name: str) -> str:
    """Return the text of an asset."""
    return (_ASSETS / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    """Return the hash by which the page's security policy allows a script or a style of this text."""
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _dark() -> str:
    """Return the dark colours, for readers who prefer them, and for those who choose them on the page."""
    preferred = f'@media(prefers-color-scheme:dark){{:root:not([data-theme="light"]){{color-scheme:dark;{DARK}}}}}'
    return f'{preferred}\n:root[data-theme="dark"]{{color-scheme:dark;{DARK}}}'
