"""The laws of the base classes, as classes that a module writer's tests subclass.

What they do not see is listed in docs/reference/laws.md.
"""
