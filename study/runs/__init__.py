"""Runs of notebooks: parameters, identity, execution, and what a notebook records."""
