"""The chart: input rows per second, a panel for each work."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report import WorkReport

_COLOURS: Final = {"muntin": "#1f6f8b", "general": "#1f6f8b", "spark": "#e07b39"}
_OTHER: Final = "#9a9a9a"
_BAR_INCHES: Final = 0.32
_PANEL_INCHES: Final = 1.0
_WIDTH_INCHES: Final = 9.0


def draw_chart(reports: Sequence[WorkReport]) -> bytes:
    """Return the chart as PNG; works without figures are left out."""
    drawn = [report for report in reports if report.figures]
    heights = [_PANEL_INCHES + _BAR_INCHES * len(report.figures) for report in drawn] or [_PANEL_INCHES]
    figure = Figure(figsize=(_WIDTH_INCHES, sum(heights)), layout="constrained")
    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for report, axes in zip(drawn, panels, strict=False):
        _draw_panel(axes, report)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()


def _draw_panel(axes: Axes, report: WorkReport) -> None:
    has_windows = len(report.work.windows) > 1
    names = [f"{name}, {question.windows}" if has_windows else name for name, question in report.figures]
    rates = [summary.rows_per_second for summary in report.figures.values()]
    bars = axes.barh(range(len(names)), rates, color=[_colour(name) for name in names])
    axes.bar_label(bars, [f"{rate:,.0f}" for rate in rates], padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, max(rates) * 1.15)
    axes.set_title(report.title, fontsize=9, loc="left")
    axes.set_xlabel("input rows per second, end to end", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)


def _colour(name: str) -> str:
    return next((colour for start, colour in _COLOURS.items() if name.startswith(start)), _OTHER)
