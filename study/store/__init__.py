"""The run store (DuckDB): made from the records of runs, and read by claims, figures and paper."""
