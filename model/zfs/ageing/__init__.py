"""Pools that are as years leave them: filled and rewritten, kept and restored, or as `zdb` describes them."""
