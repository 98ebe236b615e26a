"""The evaluator of stream operators: events wait for the watermark, and then follow one another, with wake-ups."""
