"""From sums to parameters: divisors, tied covariances, shrinkage, priors and EDDA families."""
