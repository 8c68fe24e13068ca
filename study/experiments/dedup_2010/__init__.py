"""Dedup on the appliance of 2010: ratio, memory, I/O, the cliff."""
