"""From sums to parameters: divisors, tying, shrinkage, priors and families."""
