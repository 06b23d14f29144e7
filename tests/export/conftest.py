"""The engines of the SQL tests, here too."""

from tests.sources.sql.conftest import database, duckdb, filled, postgres, postgres_settings, sqlite

__all__ = ["database", "duckdb", "filled", "postgres", "postgres_settings", "sqlite"]
