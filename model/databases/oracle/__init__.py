"""Oracle under order entry: users, buffer cache, writers. `step` runs one event."""
