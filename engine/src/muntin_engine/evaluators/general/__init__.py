"""The general evaluator: windows that cut the axis, any module and policy, from the events, with three ways to emit."""
