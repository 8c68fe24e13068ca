"""UFS under a database: calls, page cache, requests, and the volumes below."""
