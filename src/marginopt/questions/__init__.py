"""Questions about data and classifiers that an exact solver answers with a proof: one function a question, one `Answer`."""

from .lam_selection import LamSelection, select_lam
from .stability import ConformalSets, PredictionStability, conformal_sets, prediction_stability

__all__ = ["ConformalSets", "LamSelection", "PredictionStability", "conformal_sets", "prediction_stability", "select_lam"]
