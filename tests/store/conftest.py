"""Places for stores: a folder, SQLite, and a PostgreSQL that the tests start."""

import itertools

import pytest
from tests.sources.sql.server import UnavailableError, running_postgres


@pytest.fixture(scope="session")
def postgres():
    """Return the address of a fresh server."""
    pytest.importorskip("psycopg")
    try:
        with running_postgres() as at:
            yield f"postgresql://{at['user']}@{at['host']}:{at['port']}/{at['database']}"
    except UnavailableError as reason:
        pytest.skip(str(reason))


_NUMBERS = itertools.count()


@pytest.fixture(params=["folder", "sqlite", "postgres"])
def place(request, tmp_path):
    """Return where a store may begin, of each kind."""
    if request.param == "folder":
        return str(tmp_path / "a.store")
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'a.db'}"
    return f"{request.getfixturevalue('postgres')}#store_{next(_NUMBERS)}"
