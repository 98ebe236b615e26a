"""A plugin for the tests: kinds of windows of which the engine knows nothing."""
