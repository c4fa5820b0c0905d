"""The group ``mo.proofs``: certify points and results, verify proof logs, write proofs, and audit fitted machines.

`certify` and `check_point` evaluate a point, `check_proof` verifies a log, `write_vipr` and `write_proof_page` write proofs,
`audit` bounds the error of a fitted SVM, and `halfspace_depth` proves the depth of a point in a data set.
"""

from .auditing import Audit, audit
from .proof_page import write_proof_page
from .solvers import Certificate, certify
from .solvers.certification.point_check import PointCheck, check_point
from .solvers.depth import HalfspaceDepth, halfspace_depth
from .solvers.exact.check.checker import ProofReport
from .solvers.exact.vipr_certificate import ViprCertificate, write_vipr
from .solvers.proofs import check_proof

__all__ = [
    "Audit",
    "Certificate",
    "HalfspaceDepth",
    "PointCheck",
    "ProofReport",
    "ViprCertificate",
    "audit",
    "certify",
    "check_point",
    "check_proof",
    "halfspace_depth",
    "write_proof_page",
    "write_vipr",
]
