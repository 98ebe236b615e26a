"""The general evaluator: plain Python, no Spark, any window, module and policy, one micro-batch at a time."""
