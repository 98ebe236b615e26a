"""Pictures of streams and windows: drawings as SVG, for files, pages and notebooks."""

from muntin_cli.pictures.picture import Picture
from muntin_cli.pictures.track import Track, draw

__all__ = ["Picture", "Track", "draw"]
