"""The relaxation-gap report: cells, tables, pictures, formats."""
