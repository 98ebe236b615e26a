"""A module that raises an exception gives an error instead, which is the same however its window is computed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from muntin import (
    INFINITY,
    Aggregate,
    ClipPolicy,
    EmitPolicy,
    Event,
    OutputContract,
    Window,
    cumulate,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import ModuleContractError, ModuleDefinitionError
from muntin.schemas import spell
from muntin.testing import Computation, Script, WindowedQuery
from muntin_adapters.combinators import Caught, all_of, catching, filtering, preset
from tests.modules.row_operators import HandlerCalls
from tests.modules.stream_operators import Gaps
from tests.plugins.adapters.combined_modules import Mean, Total
from tests.plugins.adapters.failing_modules import (
    FAILING,
    Crowded,
    Inverse,
    Inverses,
    InverseTimes,
    Ordered,
    Refusing,
    RefusingTimes,
    Unmade,
)
from tests.scenarios.feed import Feed, at
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import scenario_of

NO_MISHAPS = Mishaps(disorder=False, cuts=None, crashes=0.0)
GRIDS = (tumbling(6), hopping(12, 4), hopping(7, 3), cumulate(12, 4))
ZERO = "compute_result: ZeroDivisionError: division by zero"


def compute(module: Any, *calls: Sequence[int]) -> Any:
    """Return the result of a module for payloads that are added in several calls."""
    state = module.create_state()
    for payloads in calls:
        state = module.add_events(state, payloads)
    return module.compute_result(state)


def test_a_result_is_that_of_the_module_or_its_error() -> None:
    module = catching(Refusing)()
    assert compute(module, [10, 20]) == Caught(2, None)
    assert compute(module, [0]) == Caught(None, "compute_result: ZeroDivisionError: integer division or modulo by zero")
    assert compute(module, [10, -1]) == Caught(None, "add_events: ValueError: -1 is negative")
    assert compute(catching(Unmade)(), [1]) == Caught(None, "create_state: LookupError: no state")
    assert catching(Inverse)().compute_result([2, 4]) == Caught(0.5, None)
    assert catching(Inverse)().compute_result([0]) == Caught(None, ZERO)


ERROR_OF_1 = "add_events: ValueError: -1 is negative"
ERROR_OF_3 = "add_events: ValueError: -3 is negative"


def test_of_several_errors_a_state_has_the_least_whatever_the_order_in_which_they_come() -> None:
    module = catching(Refusing)()
    assert compute(module, [-3, 4, -1], [5]) == Caught(None, ERROR_OF_1)
    assert compute(module, [-1], [4], [-3], [5]) == Caught(None, ERROR_OF_1)


def test_a_state_that_is_merged_with_a_failed_one_has_failed() -> None:
    module = catching(Refusing)()
    failed_with_3 = module.add_events(module.create_state(), [-3])
    failed_with_1 = module.add_events(module.create_state(), [-1])
    sound = module.add_events(module.create_state(), [6])

    assert module.combine(failed_with_3, sound) == module.combine(sound, failed_with_3) == (None, ERROR_OF_3)
    merged_errors = module.combine(failed_with_3, failed_with_1)
    assert merged_errors == module.combine(failed_with_1, failed_with_3) == (None, ERROR_OF_1)


def test_an_exception_while_states_are_merged_is_the_error_that_adding_their_payloads_has() -> None:
    module = catching(Crowded)()
    first_state = module.add_events(module.create_state(), [1, 2])
    second_state = module.add_events(module.create_state(), [1, 2])

    merged_result = module.compute_result(module.combine(first_state, second_state))

    assert merged_result == compute(module, [1, 2, 1, 2])
    assert merged_result.error == "add_events: OverflowError: more than three"


def test_a_module_that_reads_the_order_has_its_first_error() -> None:
    module = catching(Ordered)()
    first_error: Caught[list[int]] = Caught(None, "add_events: ValueError: 6 after 7")
    assert compute(module, [5, 7, 6], [3]) == first_error
    assert compute(module, [5], [7], [6], [9, 1]) == first_error


def test_rows_of_an_operator_are_records_and_a_window_that_fails_has_one() -> None:
    assert catching(Inverses)().compute_result([2, 4]) == [Caught(0.25, None), Caught(0.5, None)]
    assert catching(Inverses)().compute_result([2, 0]) == [Caught(None, ZERO)]
    timed = catching(InverseTimes)()
    window = Window(0, 10)
    assert timed.compute_result([Event(3, 5, 2)], window) == [Event.point(3, Caught(0.5, None))]
    assert timed.compute_result([Event(3, 5, 2), Event(4, 5, 0)], window) == [Caught(None, ZERO)]


def test_results_are_not_time_bound_as_a_later_row_may_bring_an_error() -> None:
    assert RefusingTimes.contract is OutputContract.TIME_BOUND
    assert catching(RefusingTimes).contract is OutputContract.WINDOW_BASED


def test_name_version_and_type_of_the_result_are_those_of_the_module_or_its_error() -> None:
    module = catching(Total)
    assert module.name == "demo.total_or_error"
    assert module.version == "1.0.0 or its error"
    assert spell(module.result_field()) == "struct<result: integer | None, error: string | None>"
    result_of_average = catching("stats.average").result_field().type.fields[0]
    assert result_of_average.type.growth == (4, 4), "as many more digits as the average of decimals has"


def test_payloads_cannot_be_taken_back_and_there_is_no_array_form() -> None:
    module = catching(Total)
    assert [name for name in ("remove_events", "combine", "deduct") if hasattr(module, name)] == ["combine"]
    assert not hasattr(catching(Mean), "columnar_form")


def test_a_catching_module_is_pickled_and_combined_as_any_other() -> None:
    module = pickle.loads(pickle.dumps(catching(preset(Total, times=3))()))
    assert compute(module, [2]) == Caught(6, None)
    assert compute(all_of(total=catching(Total))(), [2]) == {"total": Caught(2, None)}
    assert compute(filtering(catching(Total), bool)(), [0]) is None


class Wordless(Exception):
    """Has no text: `str` of it fails."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (Wordless(), "Wordless: <Wordless, whose str() raises RuntimeError>"),
        (ValueError("\ud800" + "x" * 600), f"ValueError: \\ud800{'x' * 374} [101 characters left out] {'x' * 125}"),
        (StopIteration(), "StopIteration: "),
    ],
    ids=["no text", "a long text that is not UTF-8", "an exception with a meaning for iterators"],
)
def test_an_error_can_be_stored_and_read_whatever_it_says(raised: Exception, message: str) -> None:
    module = catching(raising(raised))()
    feed = Feed(Query(tumbling(10), (module,), lifetimes="points"), "grouped")
    (row,) = feed.batch(at(3), watermark=INFINITY).rows
    assert row["result"] == {"result": None, "error": f"compute_result: {message}"}


def raising(error: BaseException) -> type[Aggregate[int, int]]:
    """Return a module that raises an error whatever its window has."""

    class Raising(Aggregate[int, int]):
        name, version = "test.raising", "1"

        def compute_result(self, payloads: Sequence[int]) -> int:
            raise error

    return Raising


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), MemoryError(), ModuleContractError("wrong")])
def test_an_exception_that_the_rows_are_not_to_blame_for_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        catching(raising(error))().compute_result([1])


def test_a_result_of_another_type_stops_the_query() -> None:
    class Wrong(Aggregate[int, int]):
        name, version = "test.wrong", "1"

        def compute_result(self, payloads: Sequence[int]) -> Any:
            return "one"

    feed = Feed(Query(tumbling(10), (catching(Wrong)(),), lifetimes="points"), "grouped")
    with pytest.raises(ModuleContractError, match=r"test\.wrong_or_error"):
        feed.batch(at(3), watermark=INFINITY)


def test_a_window_without_the_bad_row_has_its_result() -> None:
    # time       0    4    8    12
    # payloads    1    -1   2    4
    script = Script().point("a", 1, 1).point("b", 5, -1).point("c", 9, 2).point("d", 13, 4).close()
    query = WindowedQuery(hopping(8, 4), [Computation(catching(Refusing)())])
    results = {row.window.start: row.value[0] for row in script.run(query)[None]}
    failed: Caught[int] = Caught(None, ERROR_OF_1)
    assert results == {-4: Caught(60, None), 0: failed, 4: failed, 8: Caught(10, None), 12: Caught(15, None)}


def test_a_window_of_skipped_rows_has_no_record() -> None:
    feed = Feed(Query(tumbling(10), (catching(Refusing)(),), lifetimes="points"), "sliced")
    (row,) = feed.batch(at(3, None), watermark=INFINITY).rows
    assert row["result"] is None


def test_a_window_has_its_result_again_once_the_bad_row_is_retracted() -> None:
    # time    0    4    8    12
    # row 1    [)                 6
    # row 2         [)            -1, retracted in the next micro-batch
    query = Query(hopping(8, 4), (catching(Refusing)(),), emit=EmitPolicy.EAGER)
    stream = Script().insert(1, 1, 2, 6).insert(2, 5, 6, -1).batch().retract(2).batch().close()
    run = Run(query, query.evaluators["general"], NO_MISHAPS)

    live_results = []  # after each micro-batch, by the start of the window
    for batch in stream.batches():
        run.process(Arrival((batch,)))
        live_results.append({row.window[0]: row.values[0] for row in run.output})

    failed = (None, ERROR_OF_1)
    assert live_results == [
        {-4: (10, None), 0: failed, 4: failed},
        {-4: (10, None), 0: (10, None)},
        {-4: (10, None), 0: (10, None)},
    ]
    Scenario(query, stream, NO_MISHAPS).check()


@pytest.mark.parametrize("operator", [Gaps, HandlerCalls])
def test_what_follows_a_stream_or_rows_is_refused(operator: Any) -> None:
    with pytest.raises(ModuleDefinitionError, match=r"cannot be combined: it is a .*Operator, whose state is that of"):
        catching(operator)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("failing", FAILING)
def test_every_evaluator_has_the_errors_of_the_reference(failing: Any, seed: int) -> None:
    random = Random(f"{failing.name} {seed}")
    lifetimes: Lifetimes = ("points", "intervals", "named")[seed]
    windows = GRIDS if lifetimes == "points" else (*GRIDS, snapshot(), session(3))
    window = random.choice(windows)
    clip = ClipPolicy.NONE
    if failing.is_time_sensitive:
        clip = random.choice(list(ClipPolicy))
    emit = EmitPolicy.FINAL
    if lifetimes == "named":  # others cannot be revised
        emit = random.choice(list(EmitPolicy))
    query = Query(
        window,
        (catching(failing)(),),
        clip,
        emit=emit,
        lifetimes=lifetimes,
        has_order=failing.reads_order,
    )

    scenario_of(random, query, nulls=0.1, has_ties=failing.reads_order).check()
