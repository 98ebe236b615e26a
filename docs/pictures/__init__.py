"""The pictures of the documentation: small streams that are run, and drawn as they come out.

`make pages` writes them into `docs/pictures/`. `album` lists them, and `drawing` makes bars of a stream and of what
a query gives for it: windows, clips and timestamps are those of the reference evaluator, and what a micro-batch
emits is what the engine's general evaluator emits.
"""
