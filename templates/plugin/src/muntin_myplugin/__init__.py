"""Modules, windows, sinks and policies for Muntin queries."""
