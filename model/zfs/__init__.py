"""ZFS, one package for each mechanism; `eras` says which build had which rule.

    vdev       leaves, mirrors and RAID-Z; the vdev cache, the vdev queue
    space      what is free in one metaslab: space maps, and pickers that choose a place in them
    metaslab   which vdev and which metaslab a block goes to, and when freed space comes back
    ageing     pools that have been written and rewritten for long
    arc        the cache in memory and the one on cache devices
    dmu        files as records and indirect blocks; what is dirty; reading ahead
    txg        when a transaction group ends, and how fast its writes are prepared
    zil        the intent log, which a commit waits for
    dedup      the dedup table: which of its blocks are read, filled, split and dirtied

`shared_numbers` has what several of them take for granted.
"""
