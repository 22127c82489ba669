"""Django's backend for SQLite, for a file that several processes write at once."""
