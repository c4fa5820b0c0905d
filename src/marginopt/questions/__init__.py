"""Questions about data and classifiers that exact solvers answer with a proof.

They are a fairness audit, properties of the Rashomon set (the classifiers within ε of the best), the stability of predictions,
conformal sets, and the choice of λ. Most functions return an `Answer`: a value, an object that attains it (its `Evidence`), and a
proved bound, which a `BoundedQuestion` computes by models. `supports` lists the sets of features that classifiers of the Rashomon
set use. `fairness_game` trains a mixture of classifiers against the subgroup that it treats worst, one `GameRound` after another.
"""

from .answer import Answer, AnswerReport, BoundedQuestion, Evidence, ProofLog
from .conformal import ConformalSets, conformal_sets
from .fairness import FairnessQuestion, Subgroup, audit_fairness
from .fairness_game import FairnessGame, GameRound, fairness_game
from .lam_selection import LamSelection, select_lam
from .most_different import Disagreements, most_different_classifier
from .rashomon_set import CoefficientRanges, FeatureImportance, SupportSet, coefficient_ranges, feature_importance, supports
from .stability import OtherClassifier, PredictionStability, prediction_stability

__all__ = [
    "Answer",
    "AnswerReport",
    "BoundedQuestion",
    "CoefficientRanges",
    "ConformalSets",
    "Disagreements",
    "Evidence",
    "FairnessGame",
    "FairnessQuestion",
    "FeatureImportance",
    "GameRound",
    "LamSelection",
    "OtherClassifier",
    "PredictionStability",
    "ProofLog",
    "Subgroup",
    "SupportSet",
    "audit_fairness",
    "coefficient_ranges",
    "conformal_sets",
    "fairness_game",
    "feature_importance",
    "most_different_classifier",
    "prediction_stability",
    "select_lam",
    "supports",
]
