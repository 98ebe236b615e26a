"""One word per concept: the glossary, the pages and the public names agree."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, Block, Heading, blocks, headings, name_of

GLOSSARY = DOCS / "glossary.md"
WORDS_OF_THE_CODE = "Words of the code"
"""The section of the glossary that users need not read; it is the last one."""

PLAIN_WORDS = Path(__file__).with_name("plain_words.txt")
"""The words in public names that mean in Muntin what they mean anywhere."""

PACKAGES = (
    "muntin",
    "muntin.catalog",
    "muntin.changes",
    "muntin.drawings",
    "muntin.errors",
    "muntin.progress",
    "muntin.rows",
    "muntin.triggers",
    "muntin.windows",
    "muntin_adapters",
    "muntin_adapters.combinators",
    "muntin.testing",
    "muntin_engine",
    "muntin_engine.testing",
)
NAMES: list[str] = []
for public_package in PACKAGES:
    NAMES += [f"{public_package}.{name}" for name in import_module(public_package).__all__]
ENTRIES = {heading.text: heading.section for heading in headings(GLOSSARY) if heading.level == 3}
"""The sections of the glossary by their headings, which are the words that they explain."""

PAGES_OF_USERS = [page for page in PAGES if page.parent.name != "decisions"]

HOUSE = (
    *("module", "function", "aggregate", "operator", "plugin", "event", "lifetime", "payload"),
    *("window", "window specification", "slice", "watermark", "punctuation", "revision", "retraction", "state"),
)
"""One word per concept: these are ours, and no others."""

VERBS = ("create_state", "add_events", "remove_events", "combine", "deduct", "compute_result")


def words_of(text: str) -> list[str]:
    """Return the words of a name or a phrase, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)]


def stems(word: str) -> set[str]:
    """Return a word and its stems: a plural, a past tense or the name of an implementation is the same concept."""
    return {word, word.removesuffix("s"), word.removesuffix("ed"), word.removesuffix("impl")}


def entry_words() -> list[str]:
    """Return the words that the glossary explains; an entry may explain several."""
    return [phrase.strip() for phrase in ",".join(ENTRIES).split(",")]


def words_of_users() -> list[Heading]:
    """Return the entries of the glossary that stand before the words of the code."""
    words: list[Heading] = []
    for heading in headings(GLOSSARY):
        if heading.text == WORDS_OF_THE_CODE:
            return words
        if heading.level == 3:
            words.append(heading)
    raise AssertionError(f"{name_of(GLOSSARY)} has no heading {WORDS_OF_THE_CODE!r}")


def plain_words() -> list[str]:
    """Return the words in public names that the glossary need not explain."""
    return PLAIN_WORDS.read_text(encoding="utf-8").split()


def words_of_other_systems() -> list[str]:
    """Return the words that other systems use and we do not: the glossary lists them after 'Elsewhere:'."""
    lines = re.findall(r"^Elsewhere: (.*)\.$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    return [phrase.strip() for phrase in ",".join(lines).split(",")]


@pytest.mark.parametrize("phrase", entry_words())
def test_a_glossary_word_is_used_on_other_pages(phrase: str) -> None:
    pages = [page.read_text(encoding="utf-8").lower() for page in PAGES if page != GLOSSARY]
    assert any(phrase.lower() in text for text in pages), f"nobody says {phrase!r}"


def test_the_words_of_the_house_are_in_the_glossary() -> None:
    glossary_words = {phrase.lower() for phrase in entry_words()}
    assert set(HOUSE) - glossary_words == set()


def test_the_verbs_of_a_module_are_in_one_entry_of_the_glossary() -> None:
    (section_of_verbs,) = [section for section in ENTRIES.values() if "The verbs of a module" in section]
    for verb in VERBS:
        assert f"`{verb}`" in section_of_verbs


def test_a_user_has_about_fifty_words_to_learn() -> None:
    assert 40 <= len(words_of_users()) <= 60


def test_no_glossary_entry_is_there_twice() -> None:
    assert len(ENTRIES) == sum(heading.level == 3 for heading in headings(GLOSSARY))


def test_a_glossary_entry_says_what_the_word_means() -> None:
    assert len(ENTRIES) > 50
    for title, section in ENTRIES.items():
        assert section.strip(), title


def test_public_names_are_made_of_house_words() -> None:
    house_words = set(plain_words())
    for phrase in entry_words():
        house_words.update(words_of(phrase))

    strange_words: list[str] = []
    for name in NAMES:
        for word in words_of(name.rpartition(".")[2]):
            if not stems(word) & house_words:
                strange_words.append(f"{name}: {word}")

    assert len(NAMES) > 80
    assert strange_words == [], f"use a word of the glossary, or add one to it; plain words are in {PLAIN_WORDS.name}"


def test_plain_words_are_in_order_and_each_is_in_a_public_name() -> None:
    words_in_names = set[str]()
    for name in NAMES:
        for word in words_of(name.rpartition(".")[2]):
            words_in_names |= stems(word)

    assert plain_words() == sorted(plain_words())
    assert set(plain_words()) - words_in_names == set()


def test_no_public_name_uses_a_word_of_another_system() -> None:
    foreign_words = {word.lower() for word in words_of_other_systems() if " " not in word}

    assert {"pane", "cti", "accumulator", "element"} <= foreign_words
    for name in NAMES:
        last_part = name.rpartition(".")[2]
        assert foreign_words.isdisjoint(words_of(last_part)), name


def test_pages_cite_no_rules_of_our_own_list() -> None:
    """Readers have the papers, not our list of the rules in them, whose numbers are such as IB-07."""
    citations: dict[str, list[str]] = {}
    for page in PAGES_OF_USERS:
        rules = re.findall(r"\b(?:SI|TH|IB|ON|JT)-\d+", page.read_text(encoding="utf-8"))
        if rules:
            citations[name_of(page)] = rules

    assert len(PAGES_OF_USERS) > 50
    assert citations == {}


def test_pages_say_no_machine_paths() -> None:
    machine_path = re.compile(r"(?<![\w.<])/(?:home|work|tmp|root|Users|opt)/")

    for page in PAGES:
        assert not machine_path.search(page.read_text("utf-8")), name_of(page)


def test_pages_start_a_session_in_one_way() -> None:
    examples: list[Block] = []
    for page in PAGES_OF_USERS:
        examples += [block for block in blocks(page) if block.language == "python"]

    assert any("spark_session()" in example.text for example in examples)
    for example in examples:
        assert "local_session()" not in example.text, example
