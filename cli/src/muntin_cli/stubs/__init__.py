"""Typed functions for installed modules, so that an editor completes a query and mypy checks it."""

from muntin_cli.stubs.package import Stubs, make_stubs, outdated, write_stubs

__all__ = ["Stubs", "make_stubs", "outdated", "write_stubs"]
