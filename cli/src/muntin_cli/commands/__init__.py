"""The commands, one per file: each reads its arguments, calls what does the work, and prints."""
