"""Modules as evaluators call them: without payloads that they do not accept, timed, and with plain results."""
