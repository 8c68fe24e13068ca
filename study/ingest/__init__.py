"""Runs of the user's own: what benchmark tools and monitors print, read into the run store (`study ingest`).

A module a tool, or a package whose module is `importer`, each with the names of `study.ingest.reading.Importer`. What is
imported is kept as Parquet, in a folder as runs have. It lies in `papermill_runs/imported`, and the store is made from it.
"""
