"""The files that the type checker reads are no tests, and those with errors cannot be imported."""

collect_ignore = ["accepted", "refused"]
