"""The pictures of the documentation: streams that are run, and drawn as they come out.

`make pages` writes them into `docs/pictures/`. No result on them is placed by hand: windows, clips and timestamps
come from the reference evaluator, and when a result is emitted from the engine's general evaluator.
"""
