"""The evaluator of stream operators without state: each event is handed over where its row is read."""
