"""Policies: text and enumeration are one."""

from __future__ import annotations

import pytest

from muntin import ClipPolicy, EmitPolicy, TimestampPolicy
from muntin.errors import PolicyError
from muntin.policies import parse_policy


@pytest.mark.parametrize("kind", [ClipPolicy, TimestampPolicy, EmitPolicy])
def test_a_policy_is_read_from_its_text_and_from_itself(kind: type[ClipPolicy]) -> None:
    assert len(kind) >= 3
    for member in kind:
        assert parse_policy(kind, str(member)) is parse_policy(kind, member) is member


def test_an_unknown_policy_is_refused_with_what_there_is() -> None:
    with pytest.raises(PolicyError) as refused:
        parse_policy(ClipPolicy, "both")
    assert str(refused.value) == "'both' is not a ClipPolicy; there are 'none', 'left', 'right', 'full'"


def test_each_clip_says_which_ends_it_moves() -> None:
    assert [(str(clip), clip.clips_left, clip.clips_right) for clip in ClipPolicy] == [
        ("none", False, False),
        ("left", True, False),
        ("right", False, True),
        ("full", True, True),
    ]


def test_only_unchanged_and_clip_let_the_module_set_times() -> None:
    assert [str(policy) for policy in TimestampPolicy if policy.is_set_by_module] == ["unchanged", "clip"]


def test_only_final_output_is_never_taken_back() -> None:
    assert [str(policy) for policy in EmitPolicy if policy.may_retract] == ["speculative", "eager"]
