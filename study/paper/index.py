"""The page that shows what was exported: every figure with its name, picture, caption and notebook."""
from collections.abc import Collection, Iterable, Mapping
from html import escape

STYLE = ("body { font-family: sans-serif; max-width: 70em; margin: 1em auto } td { vertical-align: top; padding: 0.5em } "
         "th { text-align: left; padding: 0.5em } tr { border-top: 1px solid #ccc } table { border-collapse: collapse } "
         "img { width: 24em }")
SHOWN = ("svg", "png")      # by a browser


def page(figures: Iterable[Mapping], forms: list[str], files: list[str], notebooks: Collection[str] = ()) -> str:
    """`forms`: the formats of the figures; `notebooks`: pages of executed ones; `files`: what else lies in the folder."""
    rows = "\n".join(_row(figure, forms, notebooks) for figure in figures)
    others, executed = (", ".join(f'<a href="{name}">{name}</a>' for name in names) for names in (files, notebooks))
    executed = f"<p>Executed notebooks: {executed}</p>\n" if executed else ""
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Figures of the study</title>\n'
            f"<style>{STYLE}</style></head><body>\n<h1>Figures of the study</h1>\n<p>Numbers and tables: {others}</p>\n"
            f"{executed}<table>\n<tr><th>figure</th><th>picture</th><th>caption</th><th>notebook</th></tr>\n{rows}\n</table>\n"
            "</body></html>\n")


def _row(figure: Mapping, forms: list[str], notebooks: Collection[str]) -> str:
    name = figure["name"]
    files = "<br>".join(f'<a href="{name}.{form}">{form}</a>' for form in forms)
    shown = next((form for form in SHOWN if form in forms), None)
    picture = f'<img src="{name}.{shown}" alt="{escape(figure["caption"])}">' if shown else ""
    notebook = figure["notebook"]
    if f"{notebook}.html" in notebooks:
        notebook = f'<a href="{notebook}.html">{notebook}</a>'
    cells = (f"{name}<br>{files}", picture, escape(figure["caption"]), notebook)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
