"""The page's table of what combines on arrays is the table by which queries are planned."""

from __future__ import annotations

from muntin_engine.plan.choice import Arrivals, Geometry, Held
from muntin_engine.plan.combinations import COMBINATIONS
from tests.docs.pages import DOCS

PAGE = DOCS / "explanation/evaluation.md"


def cell(geometry: Geometry, arrivals: Arrivals, held: Held) -> str:
    found = COMBINATIONS.get((geometry, arrivals, held))
    if found is None:
        return "-"
    demands = [str(demand.__doc__).rstrip(".") for demand in found.demands]
    emits = ", ".join(f"`{emission}`" for emission in found.emits)
    return f"{emits}; {'; '.join(text[0].lower() + text[1:] for text in demands)}" if demands else emits


def table() -> str:
    """Return the table as the page has it."""
    lines = [f"| stretches | what comes | {' | '.join(Held)} |", f"|---|---{'|---' * len(Held)}|"]
    for arrivals in Arrivals:
        for geometry in Geometry:
            cells = [cell(geometry, arrivals, held) for held in Held]
            if any(text != "-" for text in cells):
                lines.append(f"| {geometry} | {arrivals} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_page_has_the_combinations_that_the_planner_knows() -> None:
    """Print the table if the page lacks it, to be put there."""
    assert len(COMBINATIONS) > 8
    assert table() in PAGE.read_text(encoding="utf-8"), f"{PAGE} lacks this table:\n{table()}"
