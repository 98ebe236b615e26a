"""Patterns in time for Muntin: one event after another, crossings, runs and chart patterns."""
