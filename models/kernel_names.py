"""A kernel by its name and numbers, as records of formulations ask for one."""

from __future__ import annotations

from collections.abc import Callable

from .kernels.kernels import RBF, Kernel, Linear, Polynomial
from .model import Model
from .record import Arrays, Chosen, Parameter

__all__ = ["kernel_parameters", "named_kernel", "with_kernel"]


def kernel_parameters(default: str | None = "rbf") -> tuple[Parameter, ...]:
    """The kernel's parameters at the prompt: its name (this one by default), γ and degree."""
    return (
        Parameter("kernel", "kernel", str, default, ("linear", "rbf", "polynomial")),
        Parameter("gamma", "γ of the kernel; by the mean squared distance where it is not given"),
        Parameter("degree", "degree of the polynomial kernel", int, 2),
    )


def named_kernel(chosen: Chosen) -> Kernel:
    """The kernel of these parameters; a rule chooses γ where none is given."""
    gamma = chosen["gamma"]
    if chosen["kernel"] == "linear":
        return Linear()
    if chosen["kernel"] == "polynomial":
        return Polynomial(chosen["degree"]) if gamma is None else Polynomial(chosen["degree"], gamma)
    return RBF() if gamma is None else RBF(gamma)


def with_kernel(model: Callable[..., Model]) -> Callable[[Arrays, Chosen], Model]:
    """The ``build`` of a record: arrays in their order, parameters by name, those of the kernel as one."""
    words = {p.name for p in kernel_parameters()}

    def build(arrays: Arrays, chosen: Chosen) -> Model:
        plain = {name: value for name, value in chosen.items() if name not in words}
        return model(*arrays.values(), **plain, kernel=named_kernel(chosen))

    return build
