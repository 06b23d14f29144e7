"""What the discriminative models warn of: valid input, surprising result.

::

    SufficeWarning (UserWarning)
    ├── SeparationWarning      no finite maximum-likelihood coefficients exist
    └── NotConvergedWarning    an iteration ended before it arrived
"""

from suffice.errors import SufficeWarning


class SeparationWarning(SufficeWarning):
    """The classes can be told apart without error, so the likelihood has no maximum."""


class NotConvergedWarning(SufficeWarning):
    """An iteration ended before it arrived."""
