"""`python -m benchmarks.shapes`: the shapes of the thesis's measurements, as tables and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.shapes import buffering, slack, slices, sweeps
from benchmarks.shapes.panels import Panel

SHAPES: Final[dict[str, Callable[..., Iterator[Panel]]]] = {
    "buffering": buffering.measure,
    "slices": slices.measure,
    "slack": slack.measure,
    "sweeps": sweeps.measure,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables and draw the pictures."""
    given = _parser().parse_args(arguments)
    for name in [given.name] if given.name else list(SHAPES):
        panels = []
        for panel in SHAPES[name](is_quick=given.quick):
            panels.append(panel)
            sys.stdout.write(f"{panel.table()}\n\n")
            sys.stdout.flush()
        drawn = [panel for panel in panels if panel.is_drawn]
        if drawn:
            _write(given.folder / f"{name}.svg", drawn)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.shapes", description=sys.modules[__name__].__doc__)
    parser.add_argument("name", nargs="?", choices=list(SHAPES), help="which one; all, unless one is named")
    parser.add_argument("--quick", action="store_true", help="less data, each run once")
    parser.add_argument("--folder", type=Path, default=Path("build/shapes"), help="where pictures are put")
    return parser


def _write(path: Path, panels: Sequence[Panel]) -> None:
    if find_spec("matplotlib") is None:
        sys.stderr.write("no picture: matplotlib is not installed, see requirements-bench.txt\n")
        return
    from benchmarks.shapes.pictures import draw

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(draw(panels))
    sys.stderr.write(f"wrote {path}\n")


if __name__ == "__main__":
    main()
