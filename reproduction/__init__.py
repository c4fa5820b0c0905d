# exempt (text): printed tables, and files of results
"""Reproduction of the papers: published tables and figures beside the same numbers measured here, by one command.

A table is one file with a record in ``TABLES``, a figure one file with a record in ``FIGURES``; the papers' folders are searched
for them. ``marginopt reproduce`` lists and runs them. Finished runs are stored as those of the gap report are, so that a run
that is killed loses only the cells in progress.
"""
