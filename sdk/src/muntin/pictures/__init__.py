"""Pictures as SVG, for files, pages and notebooks: of streams and windows, and of the way of rows through a query."""

from muntin.pictures.chart import Box, Chart
from muntin.pictures.picture import Picture
from muntin.pictures.track import Track, draw

__all__ = ["Box", "Chart", "Picture", "Track", "draw"]
