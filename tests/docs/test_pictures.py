"""Pictures: they are what the code draws today, each is shown, and nothing that can be drawn is left out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import get_args
from xml.etree import ElementTree

import pytest

from muntin import ClipPolicy, EmitPolicy, LatePolicy, Refinement, TimestampPolicy, windows
from pictures.album import FOLDER, album
from pictures.picture import Picture
from tests.docs.pages import DOCS, PAGES, name_of

ALBUM = {picture.name: picture for picture in album()}
POLICIES = (ClipPolicy, TimestampPolicy, EmitPolicy, LatePolicy, Refinement)
MEMBERS = [member for policy in POLICIES for member in policy]
RETURNED = {kind.__name__ for kind in get_args(windows.WindowSpecification)}
KINDS = [
    function
    for _, function in inspect.getmembers(windows, inspect.isfunction)
    if function.__annotations__.get("return") in RETURNED
]
REGENERATE = "make pictures"
IMAGE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
IMAGES = [
    (page, (page.parent / image["target"]).resolve(), image["text"])
    for page in PAGES
    for image in IMAGE.finditer(page.read_text(encoding="utf-8"))
]


def test_the_pictures_in_the_folder_are_those_of_the_album() -> None:
    assert sorted(file.name for file in FOLDER.iterdir()) == sorted(f"{name}.svg" for name in ALBUM), REGENERATE


@pytest.mark.parametrize("picture", ALBUM.values(), ids=ALBUM)
def test_drawing_a_picture_again_gives_the_same_bytes(picture: Picture) -> None:
    assert (FOLDER / f"{picture.name}.svg").read_bytes() == picture.svg().encode(), REGENERATE


@pytest.mark.parametrize("name", ALBUM)
def test_a_picture_is_shown_on_a_page(name: str) -> None:
    assert [name_of(page) for page, file, _ in IMAGES if file == FOLDER / f"{name}.svg"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_of_window_has_a_picture(kind: Callable[..., object]) -> None:
    assert len(KINDS) == 5
    assert [picture.name for picture in ALBUM.values() if kind in picture.shows]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: f"{type(member).__name__}.{member.name}")
def test_a_policy_has_a_picture_which_its_reference_shows(member: object) -> None:
    drawn = {FOLDER / f"{picture.name}.svg" for picture in ALBUM.values() if member in picture.shows}
    shown = {file for page, file, _ in IMAGES if page == DOCS / "reference" / "policies.md"}
    assert drawn & shown


@pytest.mark.parametrize("picture", ALBUM.values(), ids=ALBUM)
def test_a_picture_says_what_it_shows(picture: Picture) -> None:
    root = ElementTree.fromstring(picture.svg())
    assert root.get("role") == "img"
    assert [root[0].text, root.get("aria-label")] == [picture.title] * 2
    assert len(root[1].text or "") > 40


def test_an_image_of_a_page_has_a_text_for_those_who_do_not_see_it() -> None:
    assert len(IMAGES) > len(ALBUM)
    assert [f"{name_of(page)}: {file.name}" for page, file, text in IMAGES if len(text.split()) < 5] == []


def test_a_picture_is_small_and_brings_nothing_from_elsewhere() -> None:
    for file in FOLDER.iterdir():
        text = file.read_text(encoding="utf-8")
        assert len(text) < 20_000
        assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
        assert not re.search(r"<script|<image|href|@import|@font-face|url\(", text)
