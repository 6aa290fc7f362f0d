"""The files of tables: where they are, which images they hold, and copies for tables larger than memory."""
