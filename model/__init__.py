"""The simulator: disks, ZFS and UFS, databases, and what runs them together. NumPy and Numba only.

It reads no file (but for its own sources, for the cache of compiled code), prints nothing and looks at no clock. It
draws no number of its own. Packages import in this order, never back:

    simulations > databases > filesystems > zfs > devices, structures, events > jit
"""
