"""Panels as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.shapes.panels import Panel

_COLOURS: Final = ("#9a9a9a", "#e07b39", "#7a5195", "#1f6f8b", "#58a55c")
_SETTINGS: Final[dict[Any, Any]] = {"svg.hashsalt": "muntin", "svg.fonttype": "none", "font.size": 8}
_INCHES: Final = (7.5, 3.6)


def draw(panels: Sequence[Panel]) -> bytes:
    """Return a picture as SVG; the same panels give the same bytes."""
    file = BytesIO()
    with rc_context(_SETTINGS):
        width, height = _INCHES
        figure = Figure(figsize=(width, height), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_panel(axes, panel)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for colour, (name, figures) in zip(_COLOURS, panel.series.items(), strict=False):
        axes.plot(panel.places, figures, color=colour, marker="o", markersize=3, linewidth=1.2, label=name)
    for name, level in panel.levels.items():
        axes.axhline(level, color="black", linewidth=0.8, linestyle="--", label=name)
    if "x" in panel.log_axes:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    if "y" in panel.log_axes:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(0)
    axes.set_title(panel.title, loc="left", fontsize=8)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    axes.spines[["top", "right"]].set_visible(False)
