"""The command `muntin`."""

from muntin_cli.app import app, main

__all__ = ["app", "main"]
