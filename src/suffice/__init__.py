"""Probabilistic classification from mergeable statistics."""
