"""Mutation testing: deliberate mistakes in the source, and the tests that catch them."""
