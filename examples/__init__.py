"""Examples that users run: see README.md in this folder."""
