"""Targets of ``python -m benchmarks fuzz``: what damages an input, and what must come back."""
