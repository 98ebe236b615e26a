"""What the evaluators in plain Python share: keys one by one, their events and state, and the calls of modules."""
