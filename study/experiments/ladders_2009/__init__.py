"""The ladders of tuning steps for pgbench and sysbench (2009), under every reading of their words."""
