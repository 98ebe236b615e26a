"""The questions that systems answer, each with the plain computation of its answers."""
