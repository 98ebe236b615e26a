"""The laws of refinements of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.errors import PolicyError
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Trial
from muntin.triggers.description import to_dict
from muntin.triggers.refining import ResultRefinement


class ResultRefinementTrial(Trial):
    """Draws the results of a window's firings, and refines them one after the other."""

    tested: ResultRefinement

    def firings(self) -> list[dict[str, Any]]:
        """Draw the results of one window, of which the last is final."""
        results = st.fixed_dictionaries(dict(self.laws.results))
        firings = self.draw(st.lists(results, min_size=1, max_size=6))
        self.stream += [f"result {result}" for result in firings]
        return firings

    def refined(self, firings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Return the output of each firing, with the state from a checkpoint at each."""
        state: Any = None
        outputs: list[Mapping[str, Any] | None] = []
        for number, result in enumerate(firings, 1):
            # A copy: another law reports a refinement that changes the result, and this list stays as it was drawn.
            new_state, output = self.refine(state, deepcopy(result), is_final=number == len(firings))
            outputs.append(output)
            state = self.stored(new_state)
        return outputs

    def refine(self, state: Any, result: Mapping[str, Any], *, is_final: bool) -> tuple[Any, Mapping[str, Any] | None]:
        """Call the refinement for a firing; return the new state, and the output or None for no output."""
        answer: Any = self.call(f"refine({state!r}, {result!r})", self.tested.refine, state, result, is_final)
        if isinstance(answer, tuple) and len(answer) == 2:
            _, output = answer
            if output is None or isinstance(output, Mapping):
                return answer
        raise self.broken(f"refine returned {answer!r}", "return a pair of the state, and a dict or None")


class ResultRefinementLaws(Conformance, of=ResultRefinement, subject="refinement", trial=ResultRefinementTrial):
    """The laws of a refinement, tried on random results of a window.

    Attributes:
        refinement: The refinement under test, an instance.
        results: A strategy for the values of each column; whole numbers in one column by default.

    Example:
        >>> from dataclasses import dataclass
        >>> from muntin import ResultRefinement
        >>> @dataclass(frozen=True)
        ... class FinalOnly(ResultRefinement):
        ...     name = "demo.final_only"
        ...     def refine(self, state, result, is_final):
        ...         return None, result if is_final else None
        >>> class TestFinalOnly(ResultRefinementLaws):
        ...     refinement = FinalOnly()
        >>> TestFinalOnly().test_it_emits_all_columns_or_none()
    """

    refinement: ClassVar[ResultRefinement]
    results: ClassVar[Mapping[str, SearchStrategy[Any]]] = {"result": st.integers(-9, 9)}

    @law("make it a frozen dataclass with a name, whose fields are numbers or text", is_random=False)
    def test_definition_is_complete(self, trial: ResultRefinementTrial) -> None:
        """The refinement can be written into a checkpoint, and be known again."""
        try:
            to_dict(trial.tested)
        except PolicyError as error:
            raise trial.broken(str(error)) from None

    @law("build the state from numbers, text, lists and dicts")
    def test_states_are_plain_data(self, trial: ResultRefinementTrial) -> None:
        """Every state can be stored in a checkpoint."""
        trial.refined(trial.firings())

    @law("return a new state and a new dict; copy what you change")
    def test_refining_leaves_its_arguments_as_they_were(self, trial: ResultRefinementTrial) -> None:
        """A call changes neither the state nor the result that it is given."""
        state: Any = None
        for result in trial.firings():
            with trial.unchanged("before", "afterwards", (state, result)):
                new_state, _ = trial.refine(state, result, is_final=False)
                state = trial.stored(new_state)

    @law("answer from the fields and the arguments alone: no clock, no random number, nothing kept in the refinement")
    def test_the_same_results_are_refined_alike(self, trial: ResultRefinementTrial) -> None:
        """Results that come again are refined alike, whatever was refined in between."""
        firings = trial.firings()
        first = deepcopy(trial.refined(firings))
        trial.refined(trial.firings())  # of another window, which must leave no trace
        trial.expect_same(("at first", first), ("again", trial.refined(firings)), tolerance=0.0)

    @law("return a dict with the names of the result, and values of the same types; or None")
    def test_it_emits_all_columns_or_none(self, trial: ResultRefinementTrial) -> None:
        """A firing emits a value for each column of the result, of its type or null; or nothing."""
        firings = trial.firings()
        for result, emitted in zip(firings, trial.refined(firings), strict=True):
            if emitted is None:
                continue
            has_all_columns = emitted.keys() == result.keys()
            has_same_types = True
            for name, value in emitted.items():
                types = {type(value), type(result.get(name))} - {type(None)}  # null is of any type
                if len(types) > 1:
                    has_same_types = False
            trial.expect(has_all_columns and has_same_types, f"result:  {result!r}\nemitted: {emitted!r}")
