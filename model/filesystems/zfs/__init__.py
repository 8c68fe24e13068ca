"""ZFS under a database: `store` has the kernels that a database calls, the other modules are its chapters."""
