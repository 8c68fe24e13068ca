"""Executed notebooks as pages that any browser shows without the network: pictures lie in them, and no script of others."""
import functools
import os
import re
from collections.abc import Collection
from pathlib import Path

from study.project import NOTEBOOKS, digest
from study.runs import look
from study.runs.plan import Plan

# JupyterLab's look without RequireJS, MathJax and Mermaid, which come from elsewhere. No notebook has a formula.
STYLE = "<style>" + look.SHEET.read_text(encoding="utf-8") + "</style>"
TEMPLATE = ("{% extends 'lab/index.html.j2' %}{% block html_head_js %}{% endblock %}"
            "{% block html_head_js_mathjax %}{% endblock %}{% block html_head_js_mermaidjs %}{% endblock %}"
            "{% block notebook_css %}{{ super() }}" + STYLE + "{% endblock %}")
OF_FILE, OF_PAGE = "This file has no outputs. Its results stand", "This page is of a run. The committed results stand"
LINK = re.compile(r'href="([^":#]+)(#[^"]*)?"')     # to a file: no address, no place on the page


def of_runs(plans: list[Plan], place: Path) -> dict[str, str]:
    """By its name in the folder `place`, the page of each of these finished runs. Links lead to places on a page, to pages
    beside it, or to where the project's files are from there."""
    names = {plan.name for plan in plans}
    files = {plan.name: plan.folder / f"{plan.name}.ipynb" for plan in plans}
    return {f"{name}.html": with_links(page(str(file), digest([file.read_bytes()])), place, names)
            for name, file in files.items()}


@functools.lru_cache(maxsize=64)    # of all notebooks; a paper is built and compared, each time with its pages
def page(file: str, content: str) -> str:
    """The page of the executed notebook in a file whose content has this digest. Links are as they are in the notebook."""
    from nbconvert import HTMLExporter
    return HTMLExporter(raw_template=TEMPLATE, embed_images=True).from_filename(file)[0].replace(OF_FILE, OF_PAGE)


def with_links(text: str, place: Path, names: Collection[str]) -> str:
    """`text` with links of a notebook as they are from the folder `place`, which has pages of the notebooks `names`."""
    def elsewhere(link: re.Match) -> str:
        target, anchor = link[1], link[2] or ""
        if target == "index.ipynb":
            return f'href="index.html{anchor}"'
        if target.removesuffix(".ipynb") in names:
            return f'href="{target.removesuffix(".ipynb")}.html{anchor}"'
        return f'href="{os.path.relpath(NOTEBOOKS / target, place.resolve())}{anchor}"'
    return LINK.sub(elsewhere, text)
