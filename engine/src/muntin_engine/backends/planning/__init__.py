"""From the words of a query writer to a plan, for inputs of any backend."""
