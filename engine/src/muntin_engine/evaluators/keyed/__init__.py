"""The base of the evaluators in plain Python: keys one by one, their events and state, and the calls of modules."""
