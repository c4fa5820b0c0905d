"""Names of instances: a family with sizes and parameters, as ``gaussian-clustered[n=50, p=3, sigma=0.2]``, for reports.

Names are composed and never parsed: an instance keeps its family and parameters as fields, and a name shows them if it equals
the name that is composed of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

from ..errors import InputError, short_text

#: Sizes of a data set, its rows and features: names that parameters must not have.
SIZES = ("n", "p")
#: Names of whole numbers, which are written with up to twelve digits.
_WHOLE = (*SIZES, "seed")


def checked_parameters(parameters: object) -> dict[str, float]:
    """Return the parameters by name as floats; `InputError` for names of sizes and for values that are no finite numbers."""
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) and name for name in parameters):
        raise InputError(f"parameters must be a mapping of names to numbers, got {short_text(parameters)}", name="parameters")
    for name, value in parameters.items():
        if name in SIZES:
            raise InputError(
                f"parameters must be others than {' and '.join(SIZES)}, which are counted; got {name} = {short_text(value)}",
                name="parameters",
            )
        if not isinstance(value, Real) or not isfinite(value):
            raise InputError(f"the parameter {short_text(name)} must be a finite number, got {short_text(value)}", name=name)
    return {name: float(value) for name, value in parameters.items()}


def composed_name(family: str, values: Mapping[str, float]) -> str:
    """Return the name of a member of a family: sizes first, then parameters in their order."""
    ordered = [name for name in SIZES if name in values] + [name for name in values if name not in SIZES]
    inside = ", ".join(f"{name}={values[name]:{'.12g' if name in _WHOLE else 'g'}}" for name in ordered)
    return f"{family}[{inside}]" if inside else family


@dataclass(frozen=True)
class InstanceName:
    """The name of an instance with the family, parameters and sizes that it is composed of.

    Parameters
    ----------
    name : str
        The whole name.
    family : str
        The family; empty if the name stands for it.
    parameters : mapping of str to float
        Parameters of the generator or of changes, without n and p.
    sizes : mapping of str to float
        n and p, as far as they are known.
    """

    name: str
    family: str
    parameters: Mapping[str, float]
    sizes: Mapping[str, float]

    @property
    def family_name(self) -> str:
        """Return the family; the name where there is no family."""
        return self.family or self.name

    @property
    def facts_in_name(self) -> dict[str, float] | None:
        """Return the sizes and parameters that the name shows; None if the name is not composed of them."""
        n, p = ({size: self.sizes[size]} if size in self.sizes else {} for size in SIZES)
        for counted in ({}, n, p, {**n, **p}):
            values = {**counted, **self.parameters}
            if self.name == composed_name(self.family_name, values):
                return values
        return None

    def of_kind(self, kind: str, parameters: Mapping[str, float]) -> InstanceName:
        """Return the name of an object made from the instance, such as a model: ``set, kind[n=50, lam=1]``."""
        family, facts = f"{self.family_name}, {kind}", self.facts_in_name
        name = (
            composed_name(f"{self.name}, {kind}", parameters) if facts is None else composed_name(family, {**facts, **parameters})
        )
        return InstanceName(name, family, {**self.parameters, **parameters}, self.sizes)

    def changed_fields(self, sizes: Mapping[str, float], parameters: Mapping[str, float]) -> dict[str, Any]:
        """Return the fields name, family and parameters of the instance with other sizes and further parameters.

        A name that is not composed of the family, sizes and parameters stays whole, with the new facts in brackets behind it; so
        does a name with a parameter that is set again (labels flipped twice).
        """
        facts, new = None if set(parameters) & set(self.parameters) else self.facts_in_name, {**sizes, **parameters}
        name = composed_name(self.name, new) if facts is None else composed_name(self.family_name, {**facts, **new})
        return {"name": name, "family": self.family_name, "parameters": {**self.parameters, **parameters}}
