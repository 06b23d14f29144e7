"""Small labelled tables that come with the library: nothing is downloaded."""

from suffice.datasets.registry import DATASETS, Dataset, load, names

__all__ = ["DATASETS", "Dataset", "load", "names"]
