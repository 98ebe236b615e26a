"""The theme's ranking of what its search finds, computed without a browser: BM25 without lengths, as lunr has it.

`make docs-check` asks the theme itself the same, in a browser.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

_SATURATION: Final = 1.2
"""k1 of BM25 in lunr; b is 0 in the theme."""

_NOT_COUNTED: Final = """
a able about across after all almost also am among an and any are as at be because been but by can cannot could dear
did do does either else ever every for from get got had has have he her hers him his how however i if in into is it
its just least let like likely may me might most must my neither no nor not of off often on only or other our own
rather said say says she should since so some than that the their them then there these they this tis to too twas us
wants was we were what when where which while who whom why will with would yet you your
"""
"""Words that lunr leaves out of its index."""

_STOP_WORDS: Final = frozenset(_NOT_COUNTED.split())


class Answer(NamedTuple):
    """The first page that a search shows, and the best section of it; empty if only the page itself was found."""

    page: str
    section: str


class Ranking:
    """The index of a search, ready to be asked."""

    def __init__(self, index: dict[str, Any]) -> None:
        """Take the index that the site has in `search/search_index.json`."""
        self._separator = re.compile(index["config"]["separator"])
        self._pages = [entry["location"] for entry in index["docs"]]
        self._scores: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        counts = {
            name: [self._terms(entry.get(name, "")) for entry in index["docs"]] for name in index["config"]["fields"]
        }
        used = Counter(term for field in counts.values() for terms in field for term in terms)
        rarity = {term: math.log(1 + abs((len(self._pages) - n + 0.5) / (n + 0.5))) for term, n in used.items()}
        for name, field in index["config"]["fields"].items():
            for number, (entry, terms) in enumerate(zip(index["docs"], counts[name], strict=True)):
                for term, count in terms.items():
                    weight = rarity[term] * (_SATURATION + 1) * count / (_SATURATION + count)
                    self._scores[term][number] += round(weight * field["boost"] * entry.get("boost", 1), 3)

    def answer(self, words: str) -> Answer:
        """Return what a reader sees first who types these words.

        Raises:
            LookupError: Nothing is found.
        """
        asked = [word for word in self._separator.split(words.lower()) if word]
        ends = {word for text in words.lower().split() for word in self._separator.split(text)[-1:]}
        scores: dict[int, float] = defaultdict(float)
        met: dict[int, set[str]] = defaultdict(set)
        for word in asked:
            for term in self._beginning(word) if word in ends else [word]:
                for number, score in self._scores[term].items():
                    scores[number] += score
                    met[number].add(word)
        if not scores:
            raise LookupError(f"a search for {words!r} finds nothing")
        ranked = {number: score * self._bonus(number, asked, met[number]) for number, score in scores.items()}
        return self._first(sorted(ranked, key=lambda number: -ranked[number]))

    def _bonus(self, number: int, asked: Sequence[str], met: set[str]) -> float:
        counted = {word for word in asked if word in met or word not in _STOP_WORDS}
        is_page = "#" not in self._pages[number]
        return 1 + (is_page + len(met) / len(counted)) ** 2

    def _first(self, ranked: Iterable[int]) -> Answer:
        places = [self._pages[number] for number in ranked]
        page = places[0].partition("#")[0]
        sections = (place.partition("#")[2] for place in places if place.startswith(f"{page}#"))
        return Answer(page, next(sections, ""))

    def _beginning(self, word: str) -> list[str]:
        return [term for term in self._scores if term.startswith(word)]

    def _terms(self, field: str | Sequence[str]) -> Counter[str]:
        texts = [field] if isinstance(field, str) else field
        words = (word for text in texts for part in re.split(r"<[^>]*>", text) for word in self._separator.split(part))
        return Counter(word.lower() for word in words if word and word.lower() not in _STOP_WORDS)
