"""Deliberate defects: for a while, a function of a module is another one. Each law must notice those that break it."""

import contextlib
from types import SimpleNamespace


@contextlib.contextmanager
def defect(module, attribute, by):
    real = getattr(module, attribute)
    setattr(module, attribute, by)
    try:
        yield
    finally:
        setattr(module, attribute, real)


def with_columns(namespace, **values):
    """A namespace of columns in which these have other values."""
    for name in values:
        getattr(namespace, name)
    return SimpleNamespace(**{**vars(namespace), **values})


def unnoticed(defects, is_noticed):
    """Names of those defects, {name: (module, attribute, by)}, that a test would not notice; it is told the module."""
    names = []
    for name, (module, attribute, by) in defects.items():
        with defect(module, attribute, by):
            if not is_noticed(module):
                names.append(name)
    return names


@contextlib.contextmanager
def several(defects):
    """All of these, (module, attribute, by), at a time."""
    with contextlib.ExitStack() as stack:
        for chosen in defects:
            stack.enter_context(defect(*chosen))
        yield
