"""Windows of events with ids, on arrays: rows are admitted by sorted numbers of their identities."""
