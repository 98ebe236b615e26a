"""Muntin beside other ways to compute the same windows, on one machine, in one run.

`cases.py` lists what is measured. Each case has a question (`questions/`), the systems that answer it (`systems/`), a
stream of rows (`data.py`) and floors that its figures are to reach (`floors.py`). `runner.py` first compares the
answers of each system on little data with those of a plain computation, and then measures all systems in turn.
"""
