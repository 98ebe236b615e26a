"""The evaluators that follow events in order: events wait in a delay buffer until the watermark has passed them."""
