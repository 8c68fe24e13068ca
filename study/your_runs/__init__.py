"""What a reader's own runs say: which there are, their series on one clock, response times, lags, changes, comparisons."""
