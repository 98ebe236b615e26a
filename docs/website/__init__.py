"""What turns docs/ into a site: hooks for mkdocs, and the check of what they built."""
