"""Transaction groups: how much may be dirty (`throttle`), and how fast writes are prepared (`write_issue`)."""
