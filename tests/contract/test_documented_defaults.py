"""Every default that a docstring states is that of the signature."""

import ast
import importlib
import inspect
import re

import pytest

from docs import reference

MODULES = (
    "suffice",
    "suffice.datasets",
    "suffice.diagnostics",
    "suffice.lectures",
    "suffice.plots",
    "suffice.sklearn",
    "suffice.streams",
)


def stated_defaults(value):
    """Return the default of each parameter that the docstring of a value states."""
    text = inspect.getdoc(value) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, re.M | re.S)
    stated = {}
    lines = re.findall(r"^([\w, ]+) : .*\bdefault=(.+)$", section[1] if section else "", re.M)
    for names, default in lines:
        for name in names.split(","):
            stated[name.strip()] = ast.literal_eval(default)
    return stated


def callables():
    """Yield every public function, class and method whose docstring states a default."""
    for module in MODULES:
        for name in reference.public_members(module):
            value = getattr(importlib.import_module(module), name)
            members = [(name, value)]
            if inspect.isclass(value):
                functions = inspect.getmembers(value, inspect.isroutine)
                members += [
                    (f"{name}.{key}", each)
                    for key, each in functions
                    if not key.startswith("_") and each.__module__.startswith("suffice")
                ]
            for full_name, each in members:
                if stated_defaults(each):
                    yield pytest.param(each, id=f"{module}.{full_name}")


@pytest.mark.parametrize("value", list(callables()))
def test_a_stated_default_is_that_of_the_signature(value):
    parameters = inspect.signature(value).parameters
    for name, stated in stated_defaults(value).items():
        default = parameters[name].default
        assert (type(default), default) == (type(stated), stated), name
