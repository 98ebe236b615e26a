"""What a reader's browser makes of the site: every page in headless Chromium, at the width of a phone and of a desk."""
