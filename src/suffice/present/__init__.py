"""What people look at: figures, the report, the lab. May import every package but ``cli``."""
