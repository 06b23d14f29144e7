"""scikit-learn's classifiers, with their parameters and attributes, on our sums and scores.

The modules import scikit-learn's own classes, which ours extend, and ``core`` and
``discriminative``. ``suffice.sklearn`` is the public name of what they define.
"""
