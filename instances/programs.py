"""Test programs of known collections: Maros and Mészáros's QPs, Netlib's LPs, and SDPLIB's semidefinite programs.

They are read from the directory that the environment variable MARGINOPT_DATA names.

The package does not contain them. Other packages publish them with their tests: the SIF files (which are QPS) in the source
distribution of ProxSuite (0.8.0), under test/data/maros_meszaros_data/sif/sif_data; the arguments of ``linprog`` in that of SciPy
(1.17.1), under benchmarks/benchmarks/linprog_benchmark_files, infeasible ones in a folder of their own;
SDPLIB's files in the repository vsdp/SDPLIB. The files are expected at

    MARGINOPT_DATA/maros-meszaros/HS21.SIF    MARGINOPT_DATA/netlib/AFIRO.npz    MARGINOPT_DATA/netlib/infeasible/klein1.npz
    MARGINOPT_DATA/sdplib/truss1.dat-s (or .dat-s.bz2)
"""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..errors import DataError, short_text
from ..files import READ_ERRORS, has_objects, read_member, unpack_limit
from .sources import DATA_VARIABLE, data_directory

#: Names of the collections; Netlib's infeasible programs are a collection of their own.
Collection: TypeAlias = Literal["maros-meszaros", "netlib", "netlib-infeasible", "sdplib"]

#: Optima of the QPs, by name, to the eight digits of 00readme.qp, which goes with the collection (I. Maros, Cs. Mészáros, October
#: 1998): values that the solver BPMPD found with its default settings. The values of HS268 and S268 are rounding errors: their
#: optimum is zero.
MAROS_MESZAROS: dict[str, float] = {
    "AUG2D": 1.6874118e6, "AUG2DC": 1.8183681e6, "AUG2DCQP": 6.4981348e6, "AUG2DQP": 6.2370121e6, "AUG3D": 5.5406773e2,
    "AUG3DC": 7.7126244e2, "AUG3DCQP": 9.9336215e2, "AUG3DQP": 6.7523767e2, "BOYD1": -6.173522e7, "BOYD2": 2.1256767e1,
    "CONT-050": -4.5638509, "CONT-100": -4.6443979, "CONT-101": 1.9552733e-1, "CONT-200": -4.6848759,
    "CONT-201": 1.9248337e-1, "CONT-300": 1.9151232e-1, "CVXQP1_L": 1.087048e8, "CVXQP1_M": 1.0875116e6,
    "CVXQP1_S": 1.1590718e4, "CVXQP2_L": 8.1842458e7, "CVXQP2_M": 8.2015543e5, "CVXQP2_S": 8.1209405e3,
    "CVXQP3_L": 1.157111e8, "CVXQP3_M": 1.3628287e6, "CVXQP3_S": 1.1943432e4, "DPKLO1": 3.7009622e-1, "DTOC3": 2.3526248e2,
    "DUAL1": 3.5012966e-2, "DUAL2": 3.3733676e-2, "DUAL3": 1.3575584e-1, "DUAL4": 7.4609084e-1, "DUALC1": 6.1552508e3,
    "DUALC2": 3.5513077e3, "DUALC5": 4.2723233e2, "DUALC8": 1.8309359e4, "EXDATA": -1.4184343e2, "GENHS28": 9.2717369e-1,
    "GOULDQP2": 1.8427534e-4, "GOULDQP3": 2.062784, "HS118": 6.6482045e2, "HS21": -9.996e1, "HS268": 5.7310705e-7,
    "HS35": 1.1111111e-1, "HS35MOD": 2.5e-1, "HS51": 8.8817842e-16, "HS52": 5.3266476, "HS53": 4.0930233,
    "HS76": -4.6818182, "HUES-MOD": 3.482469e7, "HUESTIS": 3.482469e11, "KSIP": 5.7579794e-1, "LASER": 2.4096014e6,
    "LISWET1": 3.6122402e1, "LISWET10": 4.9485785e1, "LISWET11": 4.9523957e1, "LISWET12": 1.7369274e3,
    "LISWET2": 2.4998076e1, "LISWET3": 2.500122e1, "LISWET4": 2.5000112e1, "LISWET5": 2.5034253e1, "LISWET6": 2.4995748e1,
    "LISWET7": 4.9884089e2, "LISWET8": 7.1447006e3, "LISWET9": 1.9632513e3, "LOTSCHD": 2.3984159e3,
    "MOSARQP1": -9.5287544e2, "MOSARQP2": -1.5974821e3, "POWELL20": 5.2089583e10, "PRIMAL1": -3.5012965e-2,
    "PRIMAL2": -3.3733676e-2, "PRIMAL3": -1.3575584e-1, "PRIMAL4": -7.4609083e-1, "PRIMALC1": -6.1552508e3,
    "PRIMALC2": -3.5513077e3, "PRIMALC5": -4.2723233e2, "PRIMALC8": -1.830943e4, "Q25FV47": 1.3744448e7,
    "QADLITTL": 4.8031886e5, "QAFIRO": -1.5907818, "QBANDM": 1.6352342e4, "QBEACONF": 1.6471206e5, "QBORE3D": 3.1002008e3,
    "QBRANDY": 2.8375115e4, "QCAPRI": 6.6793293e7, "QE226": 2.1265343e2, "QETAMACR": 8.676037e4, "QFFFFF80": 8.7314747e5,
    "QFORPLAN": 7.4566315e9, "QGFRDXPN": 1.0079059e11, "QGROW15": -1.0169364e8, "QGROW22": -1.4962895e8,
    "QGROW7": -4.2798714e7, "QISRAEL": 2.5347838e7, "QPCBLEND": -7.8425409e-3, "QPCBOEI1": 1.1503914e7,
    "QPCBOEI2": 8.1719623e6, "QPCSTAIR": 6.2043875e6, "QPILOTNO": 4.7285869e6, "QPTEST": 4.371875, "QRECIPE": -2.66616e2,
    "QSC205": -5.8139518e-3, "QSCAGR25": 2.0173794e8, "QSCAGR7": 2.6865949e7, "QSCFXM1": 1.6882692e7,
    "QSCFXM2": 2.7776162e7, "QSCFXM3": 3.0816355e7, "QSCORPIO": 1.8805096e3, "QSCRS8": 9.0456001e2, "QSCSD1": 8.6666667,
    "QSCSD6": 5.0808214e1, "QSCSD8": 9.4076357e2, "QSCTAP1": 1.4158611e3, "QSCTAP2": 1.7350265e3, "QSCTAP3": 1.4387547e3,
    "QSEBA": 8.1481801e7, "QSHARE1B": 7.2007832e5, "QSHARE2B": 1.1703692e4, "QSHELL": 1.5726368e12, "QSHIP04L": 2.4200155e6,
    "QSHIP04S": 2.4249937e6, "QSHIP08L": 2.3760406e6, "QSHIP08S": 2.3857289e6, "QSHIP12L": 3.0188766e6,
    "QSHIP12S": 3.0569623e6, "QSIERRA": 2.3750458e7, "QSTAIR": 7.9854528e6, "QSTANDAT": 6.4118384e3, "S268": 5.7310705e-7,
    "STADAT1": -2.8526864e7, "STADAT2": -3.2626665e1, "STADAT3": -3.5779453e1, "STCQP1": 1.5514356e5, "STCQP2": 2.2327313e4,
    "TAME": 0.0, "UBH1": 1.1160008, "VALUES": -1.3966211, "YAO": 1.9770426e2, "ZECEVIC2": -4.125,
}  # fmt: skip

#: Optima of SDPLIB's programs, by name, as min c'x (the primal of the SDPA format), in the digits that SDPLIB's README prints
#: (B. Borchers, 1999); None for an infeasible or unbounded program.
SDPLIB: dict[str, str | None] = {
    "arch0": "5.66517e-01", "control1": "1.778463e+01", "control2": "8.300000e+00", "gpp100": "-4.49435e+01",
    "hinf1": "2.0326e+00", "hinf2": "1.0967e+01", "hinf3": "5.69e+01", "hinf4": "2.74764e+02", "hinf5": "3.63e+02",
    "hinf12": "2e-1", "infd1": None, "infd2": None, "infp1": None, "infp2": None, "mcp100": "2.261574e+02",
    "mcp124-1": "1.419905e+02", "qap5": "-4.360e+02", "qap6": "-3.8144e+02", "theta1": "2.300000e+01",
    "theta2": "3.287917e+01", "truss1": "-8.999996e+00", "truss2": "-1.233804e+02", "truss3": "-9.109996e+00",
    "truss4": "-9.009996e+00",
}  # fmt: skip

#: Folder in the directory of MARGINOPT_DATA, and suffixes of the files, by collection.
_FOLDERS: dict[Collection, tuple[str, tuple[str, ...]]] = {
    "maros-meszaros": ("maros-meszaros", (".SIF", ".QPS", ".qps")),
    "netlib": ("netlib", (".npz",)),
    "netlib-infeasible": ("netlib/infeasible", (".npz",)),
    "sdplib": ("sdplib", (".dat-s", ".dat-s.bz2")),
}


#: Exceptions that a damaged archive may raise.
_UNREADABLE: tuple[type[Exception], ...] = (*READ_ERRORS, DataError, pickle.UnpicklingError)
#: Most bytes of a pickled array of objects, which takes up to sixty-four times as many in memory.
_OBJECTS = 2**21


@dataclass(frozen=True)
class StoredProgram:
    """A program of a collection whose file is in the directory of MARGINOPT_DATA.

    Attributes
    ----------
    name : str
        Name of the program, that of its file without the suffix.
    collection : {"maros-meszaros", "netlib", "netlib-infeasible", "sdplib"}
        The collection that it belongs to.
    path : Path
        A QPS or SDPA file, which ``marginopt.read`` reads, or an archive of `linprog_arguments`.
    """

    name: str
    collection: Collection
    path: Path

    @property
    def optimum(self) -> float | None:
        """Return the published optimum; None for an infeasible or unbounded program, or one whose optimum is not listed."""
        if self.collection == "maros-meszaros":
            return MAROS_MESZAROS.get(self.name)
        if self.collection == "sdplib":
            printed = SDPLIB.get(self.name)
            return None if printed is None else float(printed)
        return float(_member(self.path, "obj")) if self.collection == "netlib" else None


def stored_programs(collection: Collection) -> list[StoredProgram]:
    """Return the programs of a collection that the directory of MARGINOPT_DATA has.

    Parameters
    ----------
    collection : {"maros-meszaros", "netlib", "netlib-infeasible", "sdplib"}
        The collection.

    Returns
    -------
    list of StoredProgram
        In the order of their names; empty if the variable is not set or the directory has none.
    """
    folder, suffixes = _FOLDERS[collection]
    directory = data_directory()
    if directory is None or not (directory / folder).is_dir():
        return []
    files = [
        (path, suffix) for path in sorted((directory / folder).iterdir()) for suffix in suffixes if path.name.endswith(suffix)
    ]
    programs = {path.name.removesuffix(suffix): path for path, suffix in files}
    return [StoredProgram(name, collection, path) for name, path in sorted(programs.items())]


def stored_program(name: str) -> StoredProgram:
    """Return the program of this name.

    Parameters
    ----------
    name : str
        Name of the program, such as "AFIRO".

    Returns
    -------
    StoredProgram
        The program, of the first collection that has it.

    Raises
    ------
    DataError
        No collection in the directory has it; the message says where the collections are published.
    """
    for collection in _FOLDERS:
        for program in stored_programs(collection):
            if program.name == name:
                return program
    state = "is not set" if data_directory() is None else "does not hold it"
    raise DataError(
        f"the program {short_text(name)} needs its file in the directory of {DATA_VARIABLE}, which {state}: "
        f"maros-meszaros/{name}.SIF from the source distribution of proxsuite, netlib/{name}.npz from that of scipy, "
        f"or sdplib/{name}.dat-s from SDPLIB (the text of marginopt.instances.programs says where in them)",
        name=name,
    )


def linprog_arguments(program: StoredProgram) -> dict[str, Any]:
    """Return the arguments of ``linprog`` and ``marginopt.from_scipy``: c, A_ub, b_ub, A_eq, b_eq and bounds of a Netlib
    program.

    Parameters
    ----------
    program : StoredProgram
        A program of "netlib" or "netlib-infeasible".

    Returns
    -------
    dict
        The arguments by name.

    Raises
    ------
    DataError
        The program is of another collection, or its file is damaged.
    """
    if program.collection in ("maros-meszaros", "sdplib"):
        raise DataError(
            f"{program.name} is no linear program: marginopt.read({short_text(str(program.path))}) reads it", name=program.name
        )
    arrays = {name: _member(program.path, name) for name in ("c", "A_ub", "b_ub", "A_eq", "b_eq", "bounds")}
    bounds = np.squeeze(arrays.pop("bounds"))
    arguments = {name: sp.csr_array(value) if name in ("A_ub", "A_eq") else value for name, value in arrays.items()}
    return {**arguments, "bounds": (0, None) if not bounds.size else [tuple(pair) for pair in np.atleast_2d(bounds).tolist()]}


class _Type:
    """The type of numbers that a pickled array names, by its code; its further state (byte order, flags) is ignored."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        pass


class _Array:
    """A pickled array of objects, restored from its shape and the list of its entries."""

    def __init__(self, *_: object) -> None:
        self.entries: np.ndarray[Any, Any] = np.empty(0, dtype=object)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, _, entries = state
        if kind.code not in ("O8", "O") or not isinstance(entries, list) or math.prod(shape) != len(entries):
            raise DataError(f"it holds an array of shape {shape} that its entries do not fill")
        self.entries = np.fromiter(entries, dtype=object, count=len(entries)).reshape(shape)


def _scalar(kind: _Type, content: bytes) -> np.generic:
    return np.frombuffer(content, dtype=kind.code, count=1)[0]


class _PlainUnpickler(pickle.Unpickler):
    """Unpickler of arrays of numbers and None alone: a foreign archive runs no code, and gets no memory that it does not fill."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the reader for a name of NumPy's pickled arrays, since NumPy's functions reserve any stated size."""
        readers = {"_reconstruct": _Array, "ndarray": _Array, "dtype": _Type, "scalar": _scalar}
        if module.split(".")[0] == "numpy" and name in readers:
            return readers[name]
        raise DataError(f"it holds an object of {module}.{name}, where arrays of numbers are expected")


def _member(path: Path, name: str) -> Any:
    """Return one array of an archive; `DataError` if it unpacks to too many bytes. Objects are read without running code."""
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(f"{name}.npy")
            header = archive.read(member) if member.file_size <= _OBJECTS else b""
            limit = unpack_limit(path.stat().st_size)
            if member.file_size > limit:
                raise DataError(f"{path} unpacks {name} to {member.file_size:,} bytes, of at most {limit:,}", file=path)
            if not (header and has_objects(io.BytesIO(header))):
                return read_member(archive, member)
        stream = io.BytesIO(header)
        has_objects(stream)
        return _PlainUnpickler(stream).load().entries
    except _UNREADABLE as error:
        raise DataError(f"{path} is no archive of a linear program: {name} cannot be read ({error})", file=path) from error
