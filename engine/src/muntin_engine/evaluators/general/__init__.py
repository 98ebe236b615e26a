"""The general evaluator: any window, module and policy, from the events themselves, with three ways to emit."""
