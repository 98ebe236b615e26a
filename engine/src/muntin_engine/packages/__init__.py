"""Packages and code for the workers: archives of installed packages, code of no package, and versions of both."""
