"""The notebooks of the study."""


from study.runs import catalogue

BOOKS = catalogue.books()
