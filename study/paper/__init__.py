"""The paper: exported figures, tables and numbers, and the typesetting."""
