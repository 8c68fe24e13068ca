"""Which vdev (`classes`), which metaslab (`groups`), and when freed space comes back (`sync`)."""
