"""Pictures of streams and windows: drawings as SVG, for files, pages and notebooks."""

from muntin.pictures.picture import Picture
from muntin.pictures.track import Track, draw

__all__ = ["Picture", "Track", "draw"]
