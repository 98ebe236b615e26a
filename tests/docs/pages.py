"""The Markdown pages of the repository, taken apart: headings, links and fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docs.build_pages import ApiEntry, entry_of, markdown_of
from release.distributions import distributions

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
REFERENCE: Final = DOCS / "reference"
READMES: Final = (ROOT / "README.md", *(distribution.folder / "README.md" for distribution in distributions().values()))
NOTEBOOKS: Final = tuple(sorted((ROOT / "notebooks").glob("*.ipynb")))
PAGES: Final = (*READMES, *sorted(DOCS.rglob("*.md")), *NOTEBOOKS)
"""What readers get, and what these tests hold to its word."""

_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
_HEADING: Final = re.compile(r"^(?P<marks>#{1,6}) +(?P<text>.*\S)\s*$")
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_COMMENT: Final = re.compile(r"^<!-- *(?P<text>.*\S) *-->$")
_CODE: Final = re.compile(r"`[^`]*`")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        page: The page it is on.
        line: The number of its first line of text; 1 for the first of the page.
        language: The first word of its info string.
        options: The rest of it.
        lines: Its text.
        comment: The HTML comment right above it, if there is one.
    """

    page: Path
    line: int
    language: str
    options: str
    lines: list[str] = field(default_factory=list)
    comment: str = ""

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def file(self) -> str | None:
        """The file that the block shows, from `file=<path>` in the info string."""
        file_option = re.search(r"\bfile=(\S+)", self.options)
        return file_option[1] if file_option else None

    @property
    def is_output(self) -> bool:
        """True if the block shows what the Python block above it prints."""
        return self.comment == "prints"

    @property
    def is_not_run(self) -> bool:
        """True if the block is only compiled, or passed over, for a reason that stands in its info string."""
        return self.options.startswith("no-run")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a page.

    Attributes:
        level: Its level, from 1 to 6.
        text: Its text without back-ticks.
        section: Lines below it, up to the next heading.
    """

    level: int
    text: str
    section: str

    @property
    def anchor(self) -> str:
        """Return the end of a link to the heading, as GitHub and the site make it."""
        letters_and_spaces = re.sub(r"[^\w\- ]", "", self.text.lower())
        return letters_and_spaces.replace(" ", "-")


def name_of(page: Path) -> str:
    """Return the path of a page from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    """Return a page, or a notebook as a page."""
    text = page.read_text(encoding="utf-8")
    return markdown_of(text) if page in NOTEBOOKS else text


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    return [part for part in _parts(page) if isinstance(part, Block)]


def headings(page: Path) -> list[Heading]:
    """Return the headings of a page with their sections; what is in fences makes no heading, but is in the section."""
    sections: list[tuple[int, str, list[str]]] = []  # the level and text of a heading, and the lines below it
    for part in _parts(page):
        if isinstance(part, Block):
            heading = None
            text = part.text
        else:
            heading = _HEADING.match(part)
            text = part
        if heading:
            sections.append((len(heading["marks"]), heading["text"].replace("`", ""), []))
        elif sections:
            sections[-1][2].append(text)
    return [Heading(level, text, "\n".join(lines)) for level, text, lines in sections]


def entries(page: Path) -> list[ApiEntry]:
    """Return the names and commands whose docstrings a page of the reference shows."""
    lines = text_of(page).splitlines()
    return [entry for entry in map(entry_of, lines) if entry is not None]


def links(page: Path) -> list[str]:
    """Return the targets of the links of a page; what is in fences or back-ticks is no link."""
    prose = (_CODE.sub("", part) for part in _parts(page) if isinstance(part, str))
    targets: list[str] = []
    for line in prose:
        targets += [link["target"] for link in _LINK.finditer(line)]
    return targets


def _parts(page: Path) -> Iterator[str | Block]:
    """Yield the lines outside of fences, and each block where it ends; fences of fewer ticks are text of it."""
    block: Block | None = None
    opening_ticks = ""
    comment = ""
    for number, line in enumerate(text_of(page).splitlines(), 1):
        fence = _FENCE.match(line)
        if block is not None:
            closes = fence is not None and fence["ticks"] == opening_ticks and not fence["info"].strip()
            if closes:
                yield block
                block = None
                comment = ""
            else:
                block.lines.append(line)
        elif fence:
            language, _, options = fence["info"].strip().partition(" ")
            block = Block(page, number + 1, language, options.strip(), comment=comment)
            opening_ticks = fence["ticks"]
        else:
            comment_line = _COMMENT.match(line)
            if comment_line:
                comment = comment_line["text"]
            elif line.strip():
                comment = ""  # a comment counts only right above a block, but for empty lines
            yield line
    assert block is None, f"{block} is never closed"
