"""Everything this library raises or warns of on purpose.

::

    SufficeError (ValueError)
    ├── InvalidInputError        rows that cannot be used: shapes, NaN, weights, labels
    ├── InvalidParameterError    a setting outside its domain
    ├── UnknownLabelError        a label that names no class
    ├── TooFewClassesError       fewer than two classes with any weight
    ├── FeatureMismatchError     other features, or another order, than before
    ├── MissingStatisticsError   a model needs sums that were not collected
    ├── ForgetError              rows taken out that were never put in
    ├── FileFormatError          a file that is not ours, or not whole
    ├── DatabaseError            a database that lost the connection or cancelled the query
    ├── CheckpointError          a scan that cannot be resumed, or not be remembered
    └── ClusterError             a cluster that does not answer, or lost its workers
    SufficeWarning (UserWarning)
    └── DegenerateDataWarning    directions without variance: usable, but said
"""


class SufficeError(ValueError):
    """Base class; a ``ValueError``, so that scikit-learn's tools catch it unchanged."""


class InvalidInputError(SufficeError):
    """Rows that cannot be used."""


class InvalidParameterError(SufficeError):
    """A setting outside its domain."""


class UnknownLabelError(SufficeError):
    """A label that names no class."""


class TooFewClassesError(SufficeError):
    """Fewer than two classes have any weight."""


class FeatureMismatchError(SufficeError):
    """Other features, or another order of them, than before."""


class MissingStatisticsError(SufficeError):
    """A model needs sums that were not collected."""


class ForgetError(SufficeError):
    """Rows taken out that were never put in."""


class FileFormatError(SufficeError):
    """A file that is not ours, or not whole."""


class DatabaseError(SufficeError):
    """A database that lost the connection, cancelled the query, or changed meanwhile."""


class CheckpointError(SufficeError):
    """A scan that cannot be resumed, or not be remembered."""


class ClusterError(SufficeError):
    """A cluster that does not answer, or lost its workers."""


class SufficeWarning(UserWarning):
    """Base class of warnings: valid input, surprising result."""


class DegenerateDataWarning(SufficeWarning):
    """Some class has no variance in some direction."""
