"""Pictures of streams and windows: drawings as SVG, for files, pages and notebooks."""

from muntin_cli.pictures.picture import Picture

__all__ = ["Picture"]
