"""Pools as `zdb` shows them, and what becomes of small writes in them."""
