"""Checks of the classes that plugins define: names, versions, methods and attributes, and Python source as text."""
