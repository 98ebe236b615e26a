"""Drawings of lifetimes, windows and streams: one description, as text and as SVG."""

from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.drawing import Drawing

__all__ = ["Bar", "Drawing", "Look"]
