"""Expectation–maximisation for rows with missing values, computed from sums instead of rows.

The package imports `core.moments` and packages that this one imports. It knows models only as the
protocol `Gaussians`, so that `core.model` can import the log-likelihood of observed numbers.
"""
