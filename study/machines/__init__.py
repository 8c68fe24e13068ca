"""Machines with a database, as files describe them (scenarios), and the simulation of each."""
