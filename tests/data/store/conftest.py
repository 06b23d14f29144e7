"""Places for stores: a folder, SQLite, and a PostgreSQL that the tests start."""

import itertools

import pytest


@pytest.fixture
def postgres(postgres_settings):
    """Return the address of the server."""
    return "postgresql://{user}@{host}:{port}/{database}".format(**postgres_settings)


_NUMBERS = itertools.count()


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def place(request, tmp_path):
    """Return where a store may begin, of each kind."""
    if request.param == "folder":
        return str(tmp_path / "a.store")
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'a.db'}"
    return f"{request.getfixturevalue('postgres')}#store_{next(_NUMBERS)}"
