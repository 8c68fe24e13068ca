"""A batch kernel that refuses to open data files which its notebook has not declared.

Started in the place of `ipykernel_launcher`. It sees what Python opens; files that DuckDB or Arrow open by name in their
own code pass unseen, so read data through `study`.
"""
import os
import runpy
import sys

from study.project import DATA, refuse_undeclared


def watch(event: str, arguments: tuple) -> None:
    """An audit hook: raises UserError when an undeclared file below `data/` is about to be opened."""
    if event == "open" and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if path.startswith(f"{DATA}{os.sep}"):
            refuse_undeclared(os.path.relpath(path, DATA).replace(os.sep, "/"))


if __name__ == "__main__":
    sys.addaudithook(watch)
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
