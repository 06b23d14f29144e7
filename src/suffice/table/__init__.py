"""The labelled table."""
