"""Code and packages on their way to the workers of a session."""
