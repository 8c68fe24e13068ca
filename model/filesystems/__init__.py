"""File systems under a database. `calls` is what a database asks of any of them; `zfs` and `ufs` answer."""
