"""Programs that the command runs in a Python of their own; each reads JSON and answers in JSON."""
