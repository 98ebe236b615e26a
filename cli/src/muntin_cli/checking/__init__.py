"""Checking a plugin package: discovery, import, types, laws, pickling and a worker."""

from muntin_cli.checking.package import Package, find_package
from muntin_cli.checking.report import Item, Report, Result, Section
from muntin_cli.checking.whole import check

__all__ = ["Item", "Package", "Report", "Result", "Section", "check", "find_package"]
