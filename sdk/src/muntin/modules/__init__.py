"""Base classes of modules, which `muntin` has, and what checks their definitions."""
