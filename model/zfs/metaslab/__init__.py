"""Which vdev (`metaslab_class`), which metaslab (`metaslab_group`), and when freed space comes back (`sync`)."""
