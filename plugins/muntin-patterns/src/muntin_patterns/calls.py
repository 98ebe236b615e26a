"""Functions that name the modules of `patterns` in a query; written by `muntin stubs patterns`."""

from muntin import typed_call
from muntin_patterns.consecutive_rise import ConsecutiveRise
from muntin_patterns.followed_by import FollowedBy
from muntin_patterns.followed_without import FollowedWithout
from muntin_patterns.head_and_shoulders import HeadAndShoulders
from muntin_patterns.silence import Silence
from muntin_patterns.state_machine import StateMachine
from muntin_patterns.threshold_crossing import ThresholdCrossing

consecutive_rise = typed_call(ConsecutiveRise)
followed_by = typed_call(FollowedBy)
followed_without = typed_call(FollowedWithout)
head_and_shoulders = typed_call(HeadAndShoulders)
silence = typed_call(Silence)
state_machine = typed_call(StateMachine)
threshold_crossing = typed_call(ThresholdCrossing)
