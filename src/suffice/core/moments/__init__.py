"""Mergeable sufficient statistics of labelled rows.

`Moments` (moments.py) holds the sums. collect.py, indicators.py and device.py compute them from
rows. merging.py, schema_change.py and forgetting.py add and subtract them. incomplete.py,
pattern_sums.py and column_sums.py hold the sums of rows with missing numbers. validity.py checks
whether any rows can have given sums, and whole_weights.py whether weights are integers.

The package imports `core.power_transform`, `core.table` and the modules below these.
`Moments.save` and `Moments.of_archive` import `suffice.persistence` when they are called.
"""

from suffice.core.moments.moments import Moments

__all__ = ["Moments"]
