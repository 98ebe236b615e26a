"""Drawings of lifetimes, windows and streams, as text and as SVG."""

from muntin.drawings.bar import Bar, Look
from muntin.drawings.drawing import Drawing, draw_windows, timeline

__all__ = ["Bar", "Drawing", "Look", "draw_windows", "timeline"]
