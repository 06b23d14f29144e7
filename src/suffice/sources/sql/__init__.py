"""Tables of a database, summed where they live or streamed out, through Ibis."""

from suffice.sources.sql.database import TableSource, is_database, is_table, table_at

__all__ = ["TableSource", "is_database", "is_table", "table_at"]
