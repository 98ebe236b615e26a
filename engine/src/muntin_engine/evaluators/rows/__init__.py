"""The evaluator of row windows: rows wait for the watermark, and then follow one another in their order."""
