"""A ladder of settings measured on a real PostgreSQL (`study measure`), and held against the model's prediction."""
