"""The five documents: claims, published numbers, priors of what they leave open, and whether they agree with themselves."""
