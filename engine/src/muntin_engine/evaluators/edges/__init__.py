"""Snapshots: partial states that are added where events start and subtracted where they end."""
