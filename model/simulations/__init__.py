"""Whole machines, event by event: a database on a store, and the three workloads of 2007 and 2010."""
