"""Releases: the distributions of this repository, built, looked at and raised to a version."""
