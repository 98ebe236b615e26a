"""The base classes of modules, which `muntin` offers, and the checks of their definitions."""
