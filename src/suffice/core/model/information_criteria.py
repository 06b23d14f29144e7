"""Information criteria: the log-likelihood of a model, with a penalty for its parameters.

``log_likelihood.py`` computes log L of a Gaussian from moments.
"""

import numpy as np


def aic(log_likelihood: float, n_parameters: float) -> float:
    """Return Akaike's (1974) criterion 2 p − 2 log L: smaller is better."""
    return 2 * n_parameters - 2 * log_likelihood


def bic(log_likelihood: float, n_parameters: float, weight: float) -> float:
    """Return Schwarz's (1978) criterion p log n − 2 log L: smaller is better."""
    return float(n_parameters * np.log(weight)) - 2 * log_likelihood
