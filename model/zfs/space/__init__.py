"""Free space of one metaslab: its map, and the pickers that choose a place in it.

Two engines keep the map, `exact_engine` (segments of any size) and `fast_engine` (blocks of one size). `free_map` is where
they meet, and both decide the same.
"""
