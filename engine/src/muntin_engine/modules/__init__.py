"""Modules as evaluators call them: bound to their inputs, told what to skip, timed, with results as plain data."""
