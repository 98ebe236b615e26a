"""Nexmark: the queries of an auction site, which stream processors are compared by."""
