"""Assigners, which find the windows that exist: one for all kinds, and faster ones for some."""
