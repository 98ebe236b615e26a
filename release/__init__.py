"""Releases: the distributions of this repository, and raising them to a version."""
