"""Programs of known collections, from files in the directory of MARGINOPT_DATA: Maros and Mészáros's QPs, Netlib's LPs.

Nothing of them is in the package. They are where other packages keep their tests: the SIF files (which are QPS) in the source
distribution of ProxSuite, under test/data/maros_meszaros_data/sif/sif_data; the arguments of ``linprog`` in that of SciPy, under
benchmarks/benchmarks/linprog_benchmark_files, infeasible ones in a folder of their own. They go to

    MARGINOPT_DATA/maros-meszaros/HS21.SIF    MARGINOPT_DATA/netlib/AFIRO.npz    MARGINOPT_DATA/netlib/infeasible/klein1.npz
"""

from __future__ import annotations

import io
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from .sources import DATA_VARIABLE, data_directory

__all__ = ["MAROS_MESZAROS", "Collection", "StoredProgram", "linprog_arguments", "stored_program", "stored_programs"]

Collection: TypeAlias = Literal["maros-meszaros", "netlib", "netlib-infeasible"]

#: Optima to the nine digits that Maros and Mészáros print (A repository of convex quadratic programming problems, 1999).
MAROS_MESZAROS: dict[str, float] = {
    "CVXQP1_S": 1.15907181e4, "CVXQP2_S": 8.12094048e3, "CVXQP3_S": 1.19434322e4, "DPKLO1": 3.70096217e-1,
    "DUAL1": 3.50129657e-2, "DUAL2": 3.37336761e-2, "DUAL3": 1.35755839e-1, "DUAL4": 7.46090842e-1,
    "DUALC1": 6.15525083e3, "DUALC2": 3.55130769e3, "DUALC5": 4.27232327e2, "DUALC8": 1.83093588e4,
    "GENHS28": 9.27173694e-1, "HS118": 6.64820452e2, "HS21": -9.99599999e1, "HS268": 5.73107049e-7, "HS35": 1.11111111e-1,
    "HS35MOD": 2.50000001e-1, "HS51": 8.88178420e-16, "HS52": 5.32664756e0, "HS53": 4.09302326e0, "HS76": -4.68181818e0,
    "KSIP": 5.75797941e-1, "LOTSCHD": 2.39841590e3, "MOSARQP1": -9.52875441e2, "MOSARQP2": -1.59748211e3,
    "PRIMAL1": -3.50129646e-2, "PRIMAL2": -3.37336761e-2, "PRIMAL3": -1.35755837e-1, "PRIMAL4": -7.46090842e-1,
    "PRIMALC1": -6.15525083e3, "PRIMALC2": -3.55130769e3, "PRIMALC5": -4.27232327e2, "PRIMALC8": -1.83094298e4,
    "QADLITTL": 4.80318859e5, "QAFIRO": -1.59078179e0, "QBEACONF": 1.64712062e5, "QBORE3D": 3.10020080e3,
    "QBRANDY": 2.83751149e4, "QE226": 2.12653433e2, "QISRAEL": 2.53478378e7, "QPCBOEI2": 8.17196224e6, "QPTEST": 4.37187500e0,
    "QRECIPE": -2.66616000e2, "QSC205": -5.81395349e-3, "QSCAGR7": 2.68659486e7, "QSEBA": 8.14818004e7,
    "QSHARE2B": 1.17036917e4, "QSTAIR": 7.98545276e6, "TAME": 0.0, "ZECEVIC2": -4.12500000e0,
}  # fmt: skip

_FOLDERS: dict[Collection, tuple[str, tuple[str, ...]]] = {
    "maros-meszaros": ("maros-meszaros", (".SIF", ".QPS", ".qps")),
    "netlib": ("netlib", (".npz",)),
    "netlib-infeasible": ("netlib/infeasible", (".npz",)),
}


@dataclass(frozen=True)
class StoredProgram:
    """A program of a collection that is here.

    Attributes
    ----------
    name : str
    collection : {"maros-meszaros", "netlib", "netlib-infeasible"}
    path : Path
        A QPS file, which ``marginopt.read`` reads, or an archive of `linprog_arguments`.
    """

    name: str
    collection: Collection
    path: Path

    @property
    def optimum(self) -> float | None:
        """As published; None where there is none: for an infeasible program, or one whose figure is not listed here."""
        if self.collection == "maros-meszaros":
            return MAROS_MESZAROS.get(self.name)
        return float(_member(self.path, "obj")) if self.collection == "netlib" else None


def stored_programs(collection: Collection) -> list[StoredProgram]:
    """The programs of a collection that the directory of MARGINOPT_DATA has, by name; none where the variable is not set."""
    folder, suffixes = _FOLDERS[collection]
    directory = data_directory()
    if directory is None or not (directory / folder).is_dir():
        return []
    found = {path.stem: path for path in sorted((directory / folder).iterdir()) if path.suffix in suffixes}
    return [StoredProgram(name, collection, path) for name, path in sorted(found.items())]


def stored_program(name: str) -> StoredProgram:
    """The program of this name.

    Raises
    ------
    DataError
        It is in no collection here; says where the collections are published.
    """
    for collection in _FOLDERS:
        for program in stored_programs(collection):
            if program.name == name:
                return program
    state = "is not set" if data_directory() is None else "does not hold it"
    raise DataError(
        f"the program {name!r} needs its file in the directory of {DATA_VARIABLE}, which {state}: maros-meszaros/{name}.SIF "
        f"from the source distribution of proxsuite, or netlib/{name}.npz from that of scipy "
        "(the text of marginopt.instances.programs says where in them)"
    )


def linprog_arguments(program: StoredProgram) -> dict[str, Any]:
    """What ``linprog`` and ``marginopt.from_scipy`` take: c, A_ub, b_ub, A_eq, b_eq and bounds of a Netlib program."""
    if program.collection == "maros-meszaros":
        raise DataError(f"{program.name} is a quadratic program: marginopt.read({str(program.path)!r}) reads it")
    held = {name: _member(program.path, name) for name in ("c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds")}
    bounds = np.squeeze(held.pop("bounds"))
    given = {name: sp.csr_array(value) if name in ("A_ub", "A_eq") else value for name, value in held.items()}
    return {**given, "bounds": (0, None) if not bounds.size else [tuple(pair) for pair in np.atleast_2d(bounds).tolist()]}


class _PlainUnpickler(pickle.Unpickler):
    """Arrays of numbers and None, and nothing else: an archive from elsewhere runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        """NumPy's own makers of arrays."""
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype", "scalar"):
            return super().find_class(module, name)
        raise DataError(f"it holds an object of {module}.{name}, where arrays of numbers are expected")


def _member(path: Path, name: str) -> Any:
    """One array of an archive; those of objects (bounds with None) are read without running code."""
    try:
        with zipfile.ZipFile(path) as archive:
            content = archive.read(f"{name}.npy")
        stream = io.BytesIO(content)
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        if read_header(stream)[2].hasobject:
            return _PlainUnpickler(stream).load()
        return np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, pickle.UnpicklingError) as error:
        raise DataError(f"{path} is no archive of a linear program: {name} cannot be read ({error})") from error
