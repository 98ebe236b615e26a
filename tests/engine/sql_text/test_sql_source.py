"""A text of SQL knows the nodes that the arguments of calls were read from."""

from __future__ import annotations

from muntin_engine.sql_text.sql_source import SqlText


def test_arguments_that_nobody_needs_any_more_do_not_give_their_nodes_to_others() -> None:
    source = SqlText("")
    for number in range(100):
        arguments = source.mark({"by": number}, node=number)  # those of the last round can be freed now
        assert source.nodes[id(arguments)].node == number


def test_arguments_keep_the_nodes_with_which_they_were_marked_first() -> None:
    source = SqlText("")
    arguments = source.mark({"by": 1}, node="inner")
    assert source.mark(arguments, node="outer") is arguments
    assert source.nodes[id(arguments)].node == "inner"
