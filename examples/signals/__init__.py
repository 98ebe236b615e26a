"""The eight applications on which TiLT was evaluated, as questions to Muntin, with the modules that they need.

`questions` has a function for each; the other files have a module each. Four of the eight need none of their own.

Source: A. Jayarajan, W. Zhao, Y. Sun and G. Pekhimenko, TiLT: A Time-Centric Approach for Stream Query Optimization and
Parallelization, ASPLOS 2023 (arXiv 2301.12030), which names the applications. How each is asked here is ours.
"""

from examples.signals.crest_factor import CrestFactor
from examples.signals.crossings import Averages, Crossings
from examples.signals.heart_beats import Beat, HeartBeats
from examples.signals.interpolation import Interpolation
from examples.signals.kurtosis import Kurtosis
from examples.signals.relative_strength import RelativeStrength
from examples.signals.root_mean_square import RootMeanSquare

__all__ = [
    "Averages",
    "Beat",
    "CrestFactor",
    "Crossings",
    "HeartBeats",
    "Interpolation",
    "Kurtosis",
    "RelativeStrength",
    "RootMeanSquare",
]
