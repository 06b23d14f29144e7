"""Exact sums, receipts of forgetting, and masked sums of which only the total can be read."""

from suffice.core.moments.masked_sums import MaskedSums
from suffice.core.moments.rounding_grid import RoundingGrid
from suffice.data.pairwise_masks import PrivateKey, mask, unmask
from suffice.persistence.masked_file import load_masked, save_masked
from suffice.persistence.receipt import Receipt

__all__ = [
    "MaskedSums",
    "PrivateKey",
    "Receipt",
    "RoundingGrid",
    "load_masked",
    "mask",
    "save_masked",
    "unmask",
]
