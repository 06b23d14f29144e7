"""scikit-learn's own test files, read from the installed package, with our classes in them."""

import importlib.util
import inspect
import re
import sys
from collections.abc import Collection

import sklearn
from _pytest.fixtures import FixtureFunctionDefinition as Fixture

import suffice.sklearn

OURS = (
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "GaussianNB",
    "MultinomialNB",
    "ComplementNB",
    "BernoulliNB",
    "CategoricalNB",
    "LogisticRegression",
)
_NAMED = re.compile(rf"\b({'|'.join(OURS)})\b")


def borrowed(path, *, without=(), whole=False):
    """Return the tests of a file of scikit-learn that name one of the classes, and its fixtures.

    ``whole`` takes the other tests of the file, too, such as those of a list of classes.
    Those of array API namespaces are left out: without such libraries scikit-learn skips them.
    """
    where = f"{sklearn.__path__[0]}/{path}.py"
    name = f"borrowed_{path.replace('/', '_')}"
    spec = importlib.util.spec_from_file_location(name, where)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that pickles of what the file defines can be read
    suffice.sklearn.patch()  # before their imports and parametrisations are read
    try:
        spec.loader.exec_module(module)
    finally:
        suffice.sklearn.unpatch()
    left_out, known = ("array_api", *without), vars(module).items()
    tests = {k: v for k, v in known if k.startswith("test_") and callable(v)}
    named = {k: v for k, v in tests.items() if whole or _NAMED.search(inspect.getsource(v))}
    kept = {k: _listed(v) for k, v in named.items() if not any(part in k for part in left_out)}
    return kept, {k: v for k, v in known if isinstance(v, Fixture)}


def _listed(test):
    """Return a test whose parameters are lists: pytest refuses generators of them."""
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize" and not isinstance(mark.args[1], Collection):
            values = (mark.args[0], list(mark.args[1]), *mark.args[2:])
            object.__setattr__(mark, "args", values)
    return test
