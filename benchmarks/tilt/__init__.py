"""The eight applications on which TiLT was evaluated, as questions to Muntin, with the modules that they need.

`questions` has a function for each; the other files have a module each. Four of the eight need none of their own.

Source: A. Jayarajan, W. Zhao, Y. Sun and G. Pekhimenko, TiLT: A Time-Centric Approach for Stream Query Optimization and
Parallelization, ASPLOS 2023 (arXiv 2301.12030), which names the applications. How each is asked here is ours.
"""

from benchmarks.tilt.crest_factor import CrestFactor
from benchmarks.tilt.crossings import Averages, Crossings
from benchmarks.tilt.heart_beats import Beat, HeartBeats
from benchmarks.tilt.interpolation import Interpolation
from benchmarks.tilt.kurtosis import Kurtosis
from benchmarks.tilt.relative_strength import RelativeStrength
from benchmarks.tilt.root_mean_square import RootMeanSquare

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
