"""Bars as SVG."""

from muntin.testing.drawings.svg.picture import render

__all__ = ["render"]
