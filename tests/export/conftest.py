"""The engines of the SQL tests, here too."""

from tests.data.sql.conftest import database, duckdb, filled, postgres, sqlite

__all__ = ["database", "duckdb", "filled", "postgres", "sqlite"]
