"""The experiments of the documents, one package for each year."""
