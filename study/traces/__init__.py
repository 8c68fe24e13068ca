"""The reader's own traces: formats of others, read in pieces, and what caches, queue and allocator make of them."""
