"""The disk of most scenarios of tests."""

DISK = {"pool": {"data": {"sheet": "savvio-10k2"}}}
