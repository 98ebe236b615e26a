"""Pictures: they are what the code draws today, each is shown, and nothing that can be drawn is left out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import muntin
from docs.pictures.album import ALBUM, FOLDER
from docs.pictures.drawing import Picture
from muntin import ClipPolicy, EmitPolicy, LatePolicy, Refinement, TimestampPolicy
from muntin.catalog.named_windows import OWN_KINDS
from muntin.drawings import Bar, Look
from muntin.rows import batch, between, last
from muntin.windows import WindowKind
from tests.docs.pages import DOCS, PAGES, name_of

POLICIES = (ClipPolicy, TimestampPolicy, EmitPolicy, LatePolicy, Refinement)
MEMBERS = list(chain.from_iterable(POLICIES))
RETURNED = {kind.__name__ for kind in OWN_KINDS.values()}
FUNCTIONS: list[Callable[..., object]] = []
for _, muntin_function in inspect.getmembers(muntin, inspect.isfunction):
    if muntin_function.__annotations__.get("return") in RETURNED:
        FUNCTIONS.append(muntin_function)
REGENERATE = "python -m docs.pictures"
IMAGE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


class ShownImage(NamedTuple):
    """An image on a page: its file, and the text for readers who do not see it."""

    page: Path
    file: Path
    text: str


def images_on(page: Path) -> Iterator[ShownImage]:
    """Yield the images of a page."""
    for image in IMAGE.finditer(page.read_text(encoding="utf-8")):
        yield ShownImage(page, (page.parent / image["target"]).resolve(), image["text"])


IMAGES = list(chain.from_iterable(map(images_on, PAGES)))


def test_the_pictures_in_the_folder_are_those_of_the_album() -> None:
    assert sorted(file.name for file in FOLDER.glob("*.svg")) == sorted(f"{name}.svg" for name in ALBUM), REGENERATE


@pytest.mark.parametrize("picture", ALBUM.values(), ids=ALBUM)
def test_drawing_a_picture_again_gives_the_same_bytes(picture: Picture) -> None:
    assert (FOLDER / f"{picture.name}.svg").read_bytes() == picture.svg().encode(), REGENERATE


@pytest.mark.parametrize("name", ALBUM)
def test_a_picture_is_shown_on_a_page(name: str) -> None:
    assert [image.page for image in IMAGES if image.file == FOLDER / f"{name}.svg"]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_that_makes_windows_has_a_picture_of_its_name(function: Callable[..., object]) -> None:
    picture = ALBUM[function.__name__.removesuffix("_windows").replace("_", "-")]
    kinds = [kind.__name__ for kind in picture.shows if isinstance(kind, type)]
    assert kinds == [function.__annotations__["return"]]


def test_each_kind_of_the_catalog_is_made_by_such_a_function() -> None:
    assert {function.__annotations__["return"] for function in FUNCTIONS} == RETURNED


@pytest.mark.parametrize(
    "kind", [type(batch(1)), type(between("opens")), type(last(1))], ids=lambda kind: kind.__name__
)
def test_a_kind_of_row_windows_has_a_picture(kind: type) -> None:
    assert [name for name, picture in ALBUM.items() if kind in picture.shows]


def windows_in(name: str) -> list[tuple[int, int, str]]:
    """Return start, end and note of the windows that a picture of the album has."""
    rows = ALBUM[name].rows
    return [(row.start, row.end, row.note) for row in rows if isinstance(row, Bar) and row.look is Look.WINDOW]


def test_a_kind_of_a_plugin_is_drawn_as_ours_are() -> None:
    """Two visits with a gap of 3: b and its gap end at 11, before c starts.

    0         10
     [----)            a
        [----)         b
                [-)    c
     [---------)       until 9 - 1 + 3 = 11
                [---)  until 14 - 1 + 3 = 16
    """
    (kind,) = ALBUM["visits"].shows
    assert isinstance(kind, type)
    assert issubclass(kind, WindowKind)
    assert kind.name == "myplugin.visits"
    assert windows_in("visits") == [(1, 11, "2"), (12, 16, "1")]


def test_windows_that_follow_rows_are_drawn_with_the_rows_that_they_hold() -> None:
    """Each list follows from the definition: at b, d and f the last three; three, three, and the rest at the end."""

    def rows_in(name: str) -> list[str]:
        return [note for _, _, note in windows_in(name)]

    assert rows_in("last-rows") == ["a, b", "b, c, d", "d, e, f"]
    assert rows_in("batches") == ["a, b, c", "d, e, f", "g"]
    assert rows_in("partitions") == ["x1", "x1, x2", "x2, x3", "y1", "y1, y2"]
    assert rows_in("between-rows") == ["a, b, c", "e, f"]


def test_a_join_that_is_revised_is_drawn_as_it_changes() -> None:
    """What comes out of x [1, 12) and 2 [7, 16), which then ends at 10, and of x being gone, by hand."""
    results = [row for row in ALBUM["joins-revised"].rows if isinstance(row, Bar) and row.look is Look.RESULT]
    assert [(row.start, row.end, row.note, row.whole and row.whole.end, row.is_struck) for row in results] == [
        # start, end, note, end before a revision, whether it is retracted
        (1, 7, "x", None, False),
        (7, 12, "x2", None, False),
        (7, 10, "x2", 12, False),
        (10, 12, "x", None, False),
        (1, 7, "x", None, True),
        (7, 10, "x2", None, True),
        (10, 12, "x", None, True),
    ]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: f"{type(member).__name__}.{member.name}")
def test_a_policy_has_a_picture_which_its_reference_shows(member: object) -> None:
    pictures_of_it = {FOLDER / f"{name}.svg" for name, picture in ALBUM.items() if member in picture.shows}
    on_the_page = {image.file for image in IMAGES if image.page == DOCS / "reference" / "policies.md"}
    assert pictures_of_it & on_the_page


@pytest.mark.parametrize("picture", ALBUM.values(), ids=ALBUM)
def test_a_picture_says_what_it_shows(picture: Picture) -> None:
    root = ElementTree.fromstring(picture.svg())
    assert root.get("role") == "img"
    title, description = root[0], root[1]
    assert title.text == picture.title
    assert root.get("aria-label") == picture.title
    assert len(description.text or "") > 40


@pytest.mark.parametrize("picture", ALBUM.values(), ids=ALBUM)
def test_no_text_of_a_picture_lies_over_another(picture: Picture) -> None:
    spans_by_line: dict[float, list[Span]] = {}
    for text in ElementTree.fromstring(picture.svg()).iter("{http://www.w3.org/2000/svg}text"):
        spans_by_line.setdefault(float(text.get("y", 0)), []).append(span_of(text))

    assert len(spans_by_line) > 2
    for spans in spans_by_line.values():
        for span, next_span in pairwise(sorted(spans)):
            assert span.right <= next_span.left, (span, next_span)


class Span(NamedTuple):
    """Where a text of a picture lies in its line."""

    left: float
    right: float
    words: str


def span_of(text: ElementTree.Element) -> Span:
    """Return where a text lies, if letters are about as wide as usual."""
    words = text.text or ""
    looks = text.get("class", "").split()
    x = float(text.get("x", 0))
    width = sum(3.5 if letter in " .,:;'()[]il" else 7.3 for letter in words)
    if "mid" in looks:
        x -= width / 2
    elif "end" in looks:
        x -= width
    return Span(x, x + width, words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_stand_out_from_their_background(scheme: str) -> None:
    """A ratio of 4.5 is what WCAG 2 asks for text of this size."""
    picture = next(iter(ALBUM.values()))  # all have the same colours: those of the light scheme first
    definitions = re.findall(r"--(\w+):#([0-9a-f]+)", picture.svg())
    half = len(definitions) // 2
    colours = dict(definitions[:half] if scheme == "light" else definitions[half:])
    backgrounds = {"ink": ("paper", "pane", "other", "fill"), "soft": ("paper", "pane", "other"), "mark": ("paper",)}

    for letters, names in backgrounds.items():
        for background in names:
            assert contrast(colours[letters], colours[background]) >= 4.5, (letters, background)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2, 1.4.3)."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour in hexadecimal digits (WCAG 2)."""
    if len(colour) == 3:
        colour = "".join(2 * digit for digit in colour)  # as CSS reads `fa0`

    def linear(digits: str) -> float:
        part = int(digits, 16) / 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(colour[:2]) + 0.7152 * linear(colour[2:4]) + 0.0722 * linear(colour[4:])


def test_an_image_of_a_page_has_a_text_for_readers_who_do_not_see_it() -> None:
    assert len(IMAGES) > len(ALBUM)
    for image in IMAGES:
        assert len(image.text.split()) >= 5, f"{name_of(image.page)}: {image.file.name}"


def test_a_picture_is_small_and_brings_nothing_from_elsewhere() -> None:
    for file in FOLDER.glob("*.svg"):
        text = file.read_text(encoding="utf-8")
        assert len(text) < 20_000
        assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
        assert not re.search(r"<script|<image|href|@import|@font-face|url\(", text)
