"""Data sets included in suffice: ``load("iris").arrays()`` returns ``X, y``."""

from suffice.data.datasets import DATASETS, Dataset, load, names

__all__ = ["DATASETS", "Dataset", "load", "names"]
