"""The page that shows a recording: one HTML file, with its data, its style and its scripts in it."""
