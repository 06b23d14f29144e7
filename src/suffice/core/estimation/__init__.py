"""Estimates of parameters from sums: divisors, tied covariances, shrinkage, priors, EDDA."""
