"""Find out which classifier to trust on a table, and why.

``import suffice as sf``; then ``sf.report(X, y)`` compares classifiers and ``sf.LDA().fit(X, y)``
fits one. ``sf.Moments.of(X, y)`` collects the sums of each class, from which every Gaussian
classifier is computed; sums of several tables can be added.

``__init__.pyi`` lists the public names. Each name is imported on first use, so that
``suffice --help`` does not wait for NumPy.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
