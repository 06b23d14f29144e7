"""Expectation–maximisation for rows with missing values, on sums alone.

The package imports `core.moments` and what stands below it. It knows models only by the
protocol `Gaussians`, so that `core.model` can import the log-likelihood of observed numbers.
"""
