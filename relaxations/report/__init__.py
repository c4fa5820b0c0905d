"""The relaxation-gap report: its plan, the cells that are computed, and the tables, pictures and formats made of them."""
