"""Mergeable sufficient statistics of labelled rows.

`Moments` (moments.py) holds the sums of each class. collect.py, indicators.py and device.py compute
the sums from rows. merging.py, schema_change.py and forgetting.py add and subtract moments.
incomplete.py, pattern_sums.py and column_sums.py hold the sums of rows with missing numbers.
validity.py checks that some rows can have the given sums. whole_weights.py checks whether weights
are integers.

The package imports `core.power_transform`, `core.table`, and modules that these two import.
`Moments.save` and `Moments.of_archive` import `suffice.persistence` when they are called.
"""

from suffice.core.moments.moments import Moments

__all__ = ["Moments"]
