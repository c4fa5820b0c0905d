"""Questions about data and classifiers that an exact solver answers with a proof: one function a question, one `Answer`."""

from .answer import Answer, AnswerReport, BoundedQuestion, Evidence, ProofLog
from .fairness import FairnessQuestion, Subgroup, audit_fairness
from .good_classifiers import coefficient_ranges, feature_importance, supports

__all__ = [
    "Answer",
    "AnswerReport",
    "BoundedQuestion",
    "Evidence",
    "FairnessQuestion",
    "ProofLog",
    "Subgroup",
    "audit_fairness",
    "coefficient_ranges",
    "feature_importance",
    "supports",
]
