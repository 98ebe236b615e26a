"""`python -m docs.build_pages`: write what the site is built from, the pages and the configuration, into build/.

The pages of docs/ are copied, with these changes:

- A line ``- [`muntin.ticks`](../../sdk/src/muntin/axis.py)`` becomes `::: muntin.ticks`, the name's docstring, with the
  anchor `ticks`, and one that names a command, such as ``- [`muntin new`](...)``, what the command says of itself.
- A notebook becomes a page, and so does each file outside of docs/ to which a page links, in the folder `repository`.
  Links to them are changed to lead there.
- In the first line of a fenced block, `file=src/plugin.py` becomes the block's title, and the reason of `no-run` goes.
  A block below `<!-- prints -->` or `<!-- shows -->` gets the class `output`.

The navigation is docs/pages.md: a heading of the second level becomes a tab, a paragraph that ends with a colon a group
in it, and each link of a list an entry. A link to a `README.md` becomes a group, with the pages that are linked there.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import typer.core
import typer.main

ROOT: Final = Path(__file__).parents[1]

REPOSITORY: Final = "repository"
"""The folder of pages that show files outside of docs/."""

COPIED: Final = frozenset({".css", ".png", ".svg", ".json"})
"""The endings of the files of docs/ that pages show or offer."""

HOME: Final = "docs/index.md"

_FENCE: Final = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^`]*)$")
_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
_API_ENTRY: Final = re.compile(r"^- \[`(?P<name>[\w. ]+)`\]\((?P<source>\S+\.py)\)$")


def write_pages(build: Path) -> None:
    """Write the pages and the configuration of the generator into a folder."""
    pages = build / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for path in shown_files():
        page = pages / address_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_of(path), encoding="utf-8")
    for file in (ROOT / "docs").rglob("*"):
        if file.suffix in COPIED:
            copy = pages / file.relative_to(ROOT / "docs")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    navigation = json.dumps(navigation_of(), ensure_ascii=False, indent=2)
    folders = f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nsite_dir: site\n"
    (build / "mkdocs.yml").write_text(f"{folders}nav: {navigation}\n", encoding="utf-8")


def shown_files() -> list[str]:
    """Return the files, as paths in the repository, that have a page: those of docs/, and those that pages link to."""
    found = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    for path in found:  # it grows meanwhile
        for target in linked_files(with_docstrings(source_of(path)), path):
            if not target.startswith("docs/") and target not in found:
                found.append(target)
    return found


# Pages


def page_of(path: str) -> str:
    """Return the Markdown of the page that shows a file of the repository."""
    if not path.endswith((".md", ".ipynb")):
        return f"{_front_matter(path)}{_source_page(path)}"
    text = with_docstrings(source_of(path))
    return f"{_front_matter(path)}{with_plain_fences(with_moved_links(text, path))}\n"


def source_of(path: str) -> str:
    """Return the Markdown of a page or notebook of the repository, and nothing for another file."""
    if path.endswith(".md"):
        return (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".ipynb"):
        return markdown_of((ROOT / path).read_text(encoding="utf-8"))
    return ""


def address_of(path: str) -> str:
    """Return the page, as a path from the first page, that shows a file of the repository.

    Example:
        >>> address_of("docs/glossary.md"), address_of("README.md"), address_of("sdk/src/muntin/axis.py")
        ('glossary.md', 'repository/readme.md', 'repository/sdk/src/muntin/axis.py.md')
        >>> address_of("notebooks/join.ipynb")
        'notebooks/join.md'
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(".ipynb"):
        return f"{path.removesuffix('.ipynb')}.md"
    folder, name = posixpath.split(path)
    page = name.lower() if name.endswith(".md") else f"{name}.md"  # a README.md would become the page of its folder
    return posixpath.join(REPOSITORY, folder, page)


def _front_matter(path: str) -> str:
    if path == HOME:
        return "---\nhide: [navigation, toc]\n---\n\n"
    if address_of(path).startswith(f"{REPOSITORY}/"):
        return "---\nsearch: {exclude: true}\n---\n\n"
    return ""


def _source_page(path: str) -> str:
    language = {".py": "python", ".toml": "toml"}.get(posixpath.splitext(path)[1], "text")
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# {posixpath.basename(path)}\n\n`{path}`\n\n``````{language}\n{text}``````\n"


# Lines, links and fenced blocks

Kind: TypeAlias = Literal["prose", "opening", "inside"]


def lines_of(text: str) -> Iterator[tuple[Kind, str]]:
    r"""Yield each line of a page and what it is; the line that closes a block is inside.

    Example:
        >>> [kind for kind, line in lines_of("See:\n```python\nx = 1\n```\nDone.")]
        ['prose', 'opening', 'inside', 'inside', 'prose']
    """
    ticks = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if ticks:
            yield "inside", line
            if fence and fence["ticks"] == ticks and not fence["info"].strip():
                ticks = ""
        elif fence:
            yield "opening", line
            ticks = fence["ticks"]
        else:
            yield "prose", line


def linked_files(text: str, path: str) -> Iterator[str]:
    """Yield the files, as paths in the repository, to which a page links.

    Args:
        text: The page's Markdown.
        path: The page's own path in the repository.

    Example:
        >>> list(linked_files("[Readme](../README.md) [site](https://example.org)", "docs/index.md"))
        ['README.md']
    """
    for kind, line in lines_of(text):
        if kind == "prose":
            for link in _LINK.finditer(line):
                yield _joined(path, link["path"])


def with_moved_links(text: str, path: str) -> str:
    """Return a page's Markdown with links that lead to pages.

    Example:
        >>> with_moved_links("See [the axis](../sdk/src/muntin/axis.py).", "docs/index.md")
        'See [the axis](repository/sdk/src/muntin/axis.py.md).'
    """
    folder = posixpath.dirname(address_of(path))

    def moved(link: re.Match[str]) -> str:
        target = posixpath.relpath(address_of(_joined(path, link["path"])), folder)
        return f"[{link['text']}]({target}{link['anchor'] or ''})"

    lines = [_LINK.sub(moved, line) if kind == "prose" else line for kind, line in lines_of(text)]
    return "\n".join(lines)


def _joined(path: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def with_plain_fences(text: str) -> str:
    r"""Return a page's Markdown with fenced blocks whose first lines the generator reads.

    Example:
        >>> print(with_plain_fences("<!-- prints -->\n```text\n42\n```"))
        ```{ .text .output }
        42
        ```
    """
    lines: list[str] = []
    is_output = False
    for kind, line in lines_of(text):
        if kind == "prose" and line in ("<!-- prints -->", "<!-- shows -->"):
            is_output = True
        elif kind == "opening":
            lines.append(_plain_fence(line, is_output=is_output))
            is_output = False
        else:
            lines.append(line)
    return "\n".join(lines)


def _plain_fence(line: str, *, is_output: bool) -> str:
    info = line.lstrip("`")
    ticks = line.removesuffix(info)
    language, _, options = info.partition(" ")
    file = re.search(r"\bfile=(\S+)", options)
    if file:
        return f'{ticks}{language} title="{file[1]}"'
    if is_output:
        return f"{ticks}{{ .{language} .output }}"
    return f"{ticks}{language}"


# Notebooks


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
    parts: list[str] = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            parts.append(_output(output))
    return "\n\n".join(parts) + "\n"


def _output(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"<!-- prints -->\n```text\n{''.join(output['text'])}```"
    data = {kind: "".join(lines) for kind, lines in output["data"].items()}
    if "image/svg+xml" in data:
        svg = data["image/svg+xml"]
        title = re.search(r"<title>(.*?)</title>", svg)
        address = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
        return f'<img alt="{title[1] if title else "a picture"}" src="{address}">'
    if "text/html" in data:
        return data["text/html"]
    return f"<!-- shows -->\n```text\n{data['text/plain']}\n```"


# The reference


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """A public name or a command on a page, and the link to the file that defines it."""

    name: str
    source: str

    @property
    def is_command(self) -> bool:
        """True if it is a command of the command line, not a name of Python."""
        return " " in self.name

    @property
    def identifier(self) -> str:
        """The name for mkdocstrings, which would take `muntin.triggers.after` for the module of that name.

        Example:
            >>> ApiEntry("muntin.triggers.after", "../../../sdk/src/muntin/triggers/after.py").identifier
            'muntin.triggers.after.after'
            >>> ApiEntry("muntin.ticks", "../../../sdk/src/muntin/axis.py").identifier
            'muntin.ticks'
        """
        _, _, module = self.source.removesuffix(".py").rpartition("/src/")
        last = self.name.rpartition(".")[2]
        return f"{module.replace('/', '.')}.{last}" if module.endswith(f"/{last}") else self.name

    @property
    def anchor(self) -> str:
        """The end of a link to its section: the last part of its name, in lower case as that of a heading.

        Example:
            >>> ApiEntry("muntin_engine.StateError", "../../engine/src/muntin_engine/errors.py").anchor
            'stateerror'
            >>> ApiEntry("muntin new", "../../cli/src/muntin_cli/commands/new.py").anchor
            'muntin-new'
        """
        return self.name.rpartition(".")[2].lower().replace(" ", "-")

    @property
    def options(self) -> list[str]:
        """The options of mkdocstrings for its section, as lines of YAML, where they differ from those of the site."""
        if self.name in _INTERNAL_MEMBERS:
            own = ["merge_init_into_class: false", "show_bases: false", "inherited_members: true"]
            return [*own, f'filters: ["!^_", "!^({_INTERNAL_MEMBERS[self.name]})$"]']
        if self.name.endswith("Laws"):  # of the kit that all share, nothing but the laws is of interest
            return ["inherited_members: true", "show_signature: false", 'filters: ["^test_", "^magnitude$"]']
        if self.name in _SHOWN_MEMBERS:
            return [f'filters: ["^({_SHOWN_MEMBERS[self.name]})$"]']
        if self.name.startswith(_MODULES_OF_PLUGINS) or _MADE_BY_FUNCTIONS.fullmatch(self.name):
            return ["members: false"]  # they are those of the base class
        return []


_INTERNAL_MEMBERS: Final = {
    "muntin_engine.EventStream": "length_columns|named_columns|lifetimes",
    "muntin_engine.WindowedStream": "streams",
    "muntin_engine.Query": "source|before|plans",
}
"""The steps of a query, which its calls make and nobody else, with members that are for the engine alone.

Some of their other members are those of a class that has no page.
"""

_SHOWN_MEMBERS: Final = {
    "muntin.rows.LastRows": "trigger|when_full",
    "muntin.rows.PartitionedRows": "partition|with_empty|with_marks|admit|select_partitions",
}
"""The members that queries call, of classes that have others for the engine."""

_MODULES_OF_PLUGINS: Final = ("muntin_stats.", "muntin_patterns.")

_MADE_BY_FUNCTIONS: Final = re.compile(
    r"muntin\.windows\.(?:Hopping|Session|Calendar|Cumulate|Landmark|Global|Trailing|Snapshot|Count)Windows"
    r"|muntin\.rows\.(?:RowBatches|RowsBetween|Partitions|\w+Policy)"
)
"""Windows and policies that functions make for queries."""


def entry_of(line: str) -> ApiEntry | None:
    """Return the name or command that a line of a page lists, if it lists one.

    Example:
        >>> entry_of("- [`muntin.ticks`](../axis.py)")
        ApiEntry(name='muntin.ticks', source='../axis.py')
        >>> entry_of("- [Glossary](glossary.md)")
    """
    found = _API_ENTRY.match(line)
    return ApiEntry(found["name"], found["source"]) if found else None


def with_docstrings(text: str) -> str:
    r"""Return a page's Markdown with the names of the reference replaced by what is said of them.

    Example:
        >>> print(with_docstrings("- [`muntin.ticks`](../../sdk/src/muntin/axis.py)"))
        <a id="ticks"></a>
        <BLANKLINE>
        ::: muntin.ticks
        <BLANKLINE>
    """
    lines: list[str] = []
    anchors: set[str] = set()
    for line in text.splitlines():
        entry = entry_of(line)
        if entry is None:
            lines.append(line)
        elif entry.is_command:
            lines += [describe_command(entry.name), ""]
        else:
            if entry.anchor not in anchors:  # of `window` and `Window` the first on the page has it
                lines += [f'<a id="{entry.anchor}"></a>', ""]
                anchors.add(entry.anchor)
            lines += [f"::: {entry.identifier}", ""]
            if entry.options:
                lines[-1:] = ["    options:", *(f"      {option}" for option in entry.options), ""]
    return "\n".join(lines)


def describe_command(name: str) -> str:
    """Return the section of a command: how it is called, what it does, its arguments and options.

    Args:
        name: `"muntin new"` and the like.

    Example:
        >>> print(describe_command("muntin doctor").splitlines()[0])
        ### muntin doctor --help
    """
    command = commands()[name]
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    lines = [f"### {name} --help", "", "```text", usage, "```", "", command.help or "", ""]
    for parameter in command.params:
        if isinstance(parameter, typer.core.TyperArgument):
            lines.append(f"- `{(parameter.name or '').upper()}`: {parameter.help or ''}")
        elif isinstance(parameter, typer.core.TyperOption):
            lines.append(f"- `{', '.join(parameter.opts)}`: {parameter.help or ''}")
    examples = (command.epilog or "").replace("\b\n", "").rstrip()  # a line \b keeps the lines below it as they are
    lines += ["", "```text", examples, "```"]
    return "\n".join(lines)


def commands() -> dict[str, typer.core.TyperCommand]:
    """Return the commands that there are, by name."""
    from muntin_cli import app

    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return dict(_commands_in(group, "muntin"))


def _commands_in(group: typer.core.TyperGroup, called: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, typer.core.TyperCommand):
            yield f"{called} {name}", command
        elif isinstance(command, typer.core.TyperGroup):
            yield from _commands_in(command, f"{called} {name}")


# The navigation

NavigationEntry: TypeAlias = str | dict[str, Any]


def navigation_of(pages: str = "docs/pages.md") -> list[NavigationEntry]:
    """Return the `nav` of the generator, from the page that lists the pages."""
    tabs: list[NavigationEntry] = [address_of(HOME)]
    entries: list[NavigationEntry] | None = None
    group: list[NavigationEntry] = []
    for line in source_of(pages).splitlines():
        tab_title = re.match(r"^## (.+)$", line)
        group_title = re.match(r"^([A-Z][^:]*):$", line)
        if tab_title:
            entries = []
            group = entries
            tabs.append({tab_title[1]: entries})
        elif entries is not None and group_title:
            group = []
            entries.append({group_title[1]: group})
        elif line.startswith("- "):
            group += _navigation_entries(line, pages)
    return tabs


def _navigation_entries(line: str, page: str) -> Iterator[NavigationEntry]:
    for target in linked_files(line, page):
        address = address_of(target)
        if posixpath.basename(target) == "README.md" and target.startswith("docs/"):
            title = source_of(target).partition("\n")[0].removeprefix("# ")
            yield {title: [address, *(address_of(linked) for linked in linked_files(source_of(target), target))]}
        elif not address.startswith(f"{REPOSITORY}/"):
            yield address


def pages_in(navigation: list[NavigationEntry]) -> Iterator[str]:
    """Yield the pages of a `nav` in order.

    Example:
        >>> list(pages_in(["index.md", {"Learn": ["tutorials/one.md", {"More": ["two.md"]}]}]))
        ['index.md', 'tutorials/one.md', 'two.md']
    """
    for entry in navigation:
        if isinstance(entry, str):
            yield entry
        else:
            for entries in entry.values():
                yield from pages_in(entries)


if __name__ == "__main__":
    write_pages(ROOT / "build")
