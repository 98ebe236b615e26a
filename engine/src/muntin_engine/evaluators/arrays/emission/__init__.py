"""What is told of windows: final results, or results that are corrected."""
