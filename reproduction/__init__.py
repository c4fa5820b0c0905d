# exempt (text): printed tables, and files of results
"""Executable papers: the published tables and figures beside the same numbers measured here, by one command.

A table is one file with a record in ``TABLES``, a figure one in ``FIGURES``, found by looking into the papers' folders.
``marginopt reproduce`` lists them; `reproduce` runs them through the gap report's store, so that a kill costs only the runs
that are being computed.
"""
