"""Gurobi's licence: which one there is, how large a model it allows, and when it ends."""

from __future__ import annotations

import functools

from ...errors import LicenceError
from ...models.export.native.gurobi import silent_environment
from ...models.export.shared.quadratic_cones import native_size
from ..records.licence import Licence, LicenceState

__all__ = ["SIZE_ERROR", "find_licence"]

#: Variables and rows, and variables of anything quadratic, that the licence inside the pip package allows.
_LIMIT, _QUADRATIC_LIMIT = 2000, 200
#: Gurobi's code of an error for a model larger than the licence allows.
SIZE_ERROR = 10010


@functools.cache
def find_licence(licence_file: str | None) -> Licence:
    """The licence that Gurobi finds with this ``GRB_LICENSE_FILE``, tried with one variable more than a restricted one allows."""
    import gurobipy

    try:
        environment = silent_environment()
    except LicenceError as error:
        expired = "expired" in str(error).lower()
        return Licence(LicenceState.EXPIRED if expired else LicenceState.MISSING, str(error))
    with environment, gurobipy.Model(env=environment) as model:
        day = str(model.LicenseExpiration)
        until = "" if day == "99999999" else f", valid until {day[:4]}-{day[4:6]}-{day[6:]}"
        model.addMVar(_LIMIT + 1)
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            if error.errno != SIZE_ERROR:
                return Licence(LicenceState.MISSING, str(error))
            return Licence(LicenceState.RESTRICTED, f"{error}{until}", _LIMIT, _QUADRATIC_LIMIT, native_size)
    return Licence(LicenceState.FULL, f"full licence{until}")
