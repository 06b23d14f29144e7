"""Choosing among Gaussian models by exact cross-validation, and averaging the best of them."""
