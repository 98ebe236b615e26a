"""The general evaluator: events are kept, and windows computed from their members."""

from __future__ import annotations

from collections.abc import Iterator

from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.lives import KeyLives
from muntin_engine.evaluators.general.lives_run import LivesRun
from muntin_engine.evaluators.keyed.key_reader import query_without_modules, rows_of_keys
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.evaluators.keyed.keyed_run import KeyedRun
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow


class GeneralEvaluator(KeyedEvaluator):
    """Runs windows that cut the axis, any module and policy, with revisions and retractions, key by key in Python."""

    def run_class(self, plan: Plan) -> type[KeyedRun]:
        """Return the class of a micro-batch of a bucket."""
        return GeneralRun if plan.forget_keys_after is None else LivesRun

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the events, and the entries of windows that were emitted or have a trigger."""
        has_lives = bucket.identity.get("forget_keys_after") is not None
        query = query_without_modules(bucket.identity, bucket.identity)
        return rows_of_keys(bucket, KeyLives if has_lives else KeyState, query)
