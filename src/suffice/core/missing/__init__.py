"""Expectation–maximisation for rows with missing values, computed from sums, not from rows.

The package imports `core.moments` and the packages below it. It uses models only through the
protocol `Gaussians`, so that `core.model` can import the log-likelihood of observed numbers.
"""
