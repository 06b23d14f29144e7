"""Expectation–maximisation for rows with missing values, on sums alone."""
