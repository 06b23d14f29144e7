"""Figures drawn with matplotlib; ``suffice.plots`` lists the public ones."""
