"""Executed notebooks as pages that any browser shows without the network: pictures lie in them, and no script of others."""
import os
import re
from collections.abc import Collection
from pathlib import Path

from study.project import NOTEBOOKS
from study.runs.plan import Plan

# JupyterLab's look without RequireJS, MathJax and Mermaid, which come from elsewhere. No notebook has a formula.
TEMPLATE = ("{% extends 'lab/index.html.j2' %}{% block html_head_js %}{% endblock %}"
            "{% block html_head_js_mathjax %}{% endblock %}{% block html_head_js_mermaidjs %}{% endblock %}")
LINK = re.compile(r'href="([^":#]+)(#[^"]*)?"')     # to a file: no address, no place on the page


def of_runs(plans: list[Plan], place: Path) -> dict[str, str]:
    """By its name in the folder `place`, the page of each of these finished runs. Links lead to places on a page, to pages
    beside it, or to where the project's files are from there."""
    from nbconvert import HTMLExporter
    exporter = HTMLExporter(raw_template=TEMPLATE, embed_images=True)
    names = {plan.name for plan in plans}
    return {f"{plan.name}.html": with_links(exporter.from_filename(str(plan.folder / f"{plan.name}.ipynb"))[0], place, names)
            for plan in plans}


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
