"""D-NPSVC++: nonparallel classifiers (a hyperplane for each class) trained together with a neural network. Needs PyTorch.

The method is that of Zhang, Lai, Zhou and Liang (2024), *NPSVC++: Nonparallel classifiers encounter representation learning*.
`DeepNPSVC` is the scikit-learn estimator, `PUBLISHED_TRAINING` the paper's training parameters. The parts can be used in other
training loops: a `Network` of an encoder (`MLPEncoder`, `ConvEncoder`) and an `NPSVCHead`; `NearObjectives`, one objective for
each class, small if its hyperplane is near the points of one side and far from the others (alternatives: `SoftmaxObjectives`, a
cross-entropy of the decision values, and `AngularObjectives`, one of cosines with an angular margin; `Objectives` is their base
class); `ChebyshevLoss`, their combination by weights τ, which `common_weights` computes; and `Training`, the loop itself, with
its `Settings` and `Batches`. `draw_objectives` and `draw_training` plot its history. Install the extra ``[deep]``.
"""

from ..errors import MissingPackageError

try:
    import torch  # noqa: F401 - asked for once, here, so that the error below names the command
except ImportError as error:
    raise MissingPackageError(
        "marginopt.deep needs the package torch, which is not installed", "torch", 'pip install "marginopt[deep]"'
    ) from error

from .estimator import PUBLISHED_TRAINING, DeepNPSVC
from .head import ConvEncoder, MLPEncoder, Network, NPSVCHead
from .losses import AngularObjectives, ChebyshevLoss, NearObjectives, Objectives, SoftmaxObjectives, common_weights
from .pictures import draw_objectives, draw_training
from .training import Batches, Settings, Training

__all__ = [
    "PUBLISHED_TRAINING",
    "AngularObjectives",
    "Batches",
    "ChebyshevLoss",
    "ConvEncoder",
    "DeepNPSVC",
    "MLPEncoder",
    "NPSVCHead",
    "NearObjectives",
    "Network",
    "Objectives",
    "Settings",
    "SoftmaxObjectives",
    "Training",
    "common_weights",
    "draw_objectives",
    "draw_training",
]
