"""A person with a browser: a notebook opens in JupyterLab, runs to its end without an error, and a slider redraws."""
import contextlib
import json
import os
import re
import shutil
import socket
import time
import urllib.request

import pytest
from conftest import KERNELSPEC, command
from nbformat.v4 import new_code_cell, new_notebook

from drivers.notebooks import SHORT
from study.commands import overview
from study.project import NOTEBOOKS
from support.processes import ended, started

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
# What any notebook may break is found without a browser (`test_slid_notebooks.py`).
BOOK = "90_model_vs_zfs.ipynb"

pytestmark = [pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with chromedriver is installed"),
              pytest.mark.slow, pytest.mark.timeout(1800)]

# What the page tells about the notebook in front.
STATE = """
const panel = jupyterapp.shell.currentWidget;
const cells = panel.content.model ? panel.content.model.cells : [];
const state = {ready: panel.sessionContext && panel.sessionContext.isReady, code: 0, run: 0, errors: []};
for (let i = 0; i < cells.length; i++) {
  const cell = cells.get(i);
  if (cell.type !== 'code') continue;
  state.code += 1;
  if (cell.executionCount !== null) state.run += 1;
  const outputs = cell.outputs;
  for (let k = 0; k < outputs.length; k++)
    if (outputs.get(k).type === 'error') state.errors.push(outputs.get(k).toJSON().evalue);
}
const dialog = document.querySelector('.jp-Dialog-content');     // a kernel that has died, for one
if (dialog) state.errors.push(dialog.textContent);
state.idle = state.ready && panel.sessionContext.session.kernel.status === 'idle';
return state;
"""
# In the place of all other notebooks, whose kernels have ended.
OPEN = """
for (const widget of [...jupyterapp.shell.widgets('main')]) widget.dispose();
jupyterapp.commands.execute('docmanager:open', {path: arguments[0]});
"""
SLIDE = """
const handle = document.querySelector('.jp-OutputArea-output .noUi-handle');
handle.scrollIntoView({block: 'center'});
handle.focus();
return handle.getAttribute('aria-valuetext');
"""
PICTURE = "const i = document.querySelector('.jp-OutputArea-output img.widget-image'); return i ? i.src : null;"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """`make lab` with copies of the notebooks, so that running them changes nothing in the project. Runs are short, as their
    numbers are the business of other tests."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(NOTEBOOKS, folder / "notebooks")
    for path in (folder / "notebooks").glob("*.ipynb"):
        text = path.read_text()
        for name, value in SHORT.get(path.stem, {}).items():
            text = re.sub(rf'"{name} = [\d._]+', f'"{name} = {value}', text)
        path.write_text(text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command("lab", "--no-browser", f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}/notebooks",
                    "--IdentityProvider.token=study", "--expose-app-in-browser")
    environment = dict(os.environ, JUPYTER_CONFIG_DIR=str(folder / "config"), JUPYTER_DATA_DIR=str(folder / "data"),
                       JUPYTER_RUNTIME_DIR=str(folder / "runtime"), IPYTHONDIR=str(folder / "ipython"),
                       STUDY_RUNS=str(folder / "runs"))
    with open(folder / "log", "w") as log, started(words, env=environment, stdout=log, stderr=log) as process:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: answers(f"{url}/api/status?token=study"), 180)
        yield url
        process.terminate()
        ended(process, 30)      # a thread of JupyterLab's own has been seen to outlive its main thread


def answers(url):
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
        return answer.status == 200
    return False


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for word in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
                 "--window-size=1400,1800", f"--user-data-dir={profile}"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"nothing in {seconds} s"
        time.sleep(0.25)
    return result


def state(browser):
    from selenium.common.exceptions import JavascriptException
    with contextlib.suppress(JavascriptException):
        return browser.execute_script(STATE)
    return {"idle": False}


def opened(browser, server, name):
    """The notebook in front, ready to run. The page of the lab is loaded for the first one and serves the others too."""
    if not browser.current_url.startswith(server):
        browser.get(f"{server}/lab/tree/{name}?token=study&reset")
    else:
        browser.execute_script(OPEN, name)
    wait_for(lambda: state(browser)["idle"] and browser.execute_script(FRONT) == name, 180)


def run_all_cells(browser, server, name, meanwhile=lambda: None):
    opened(browser, server, name)
    browser.execute_script("jupyterapp.commands.execute('notebook:run-all-cells')")
    meanwhile()
    wait_for(lambda: (now := state(browser)).get("errors") or (now["idle"] and now["run"] == now["code"]), 1500)
    return state(browser)


def test_a_notebook_runs_in_the_browser_and_its_slider_redraws_the_figure(browser, server):
    done = run_all_cells(browser, server, BOOK)
    assert done["errors"] == []
    assert done["run"] == done["code"] > 0
    keep(browser, BOOK)
    widths = browser.execute_script(FILLED)
    assert len(widths) > 1
    assert min(widths) > 0.9
    assert browser.execute_script(WRAPS) == "normal"
    slide(browser, BOOK)
    browser.execute_script("return jupyterapp.shell.currentWidget.sessionContext.shutdown()")   # its memory is for the next


# Of each picture, those of sliders too: the share of the notebook's column that it fills.
FILLED = """
return [...document.querySelectorAll('.jp-OutputArea-output img')].map(
  image => image.clientWidth / image.closest('.jp-OutputArea-output').clientWidth);
"""
# JupyterLab's own sheet breaks printed lines inside words.
WRAPS = "return getComputedStyle(document.querySelector('.jp-OutputArea-output pre')).wordBreak;"
STATUS = """
return [...document.querySelectorAll('.jp-OutputArea-output .widget-html-content')].map(one => one.textContent).join(' ');
"""
ORDER = """
const [slider, status, picture] = ['.noUi-handle', '.widget-html small', 'img.widget-image'].map(
  selector => [...document.querySelectorAll('.jp-OutputArea-output ' + selector)].pop().getBoundingClientRect().y);
return slider < status && status < picture;
"""


PRESS = """
[...document.querySelectorAll('.jp-OutputArea-output button')].find(one => one.textContent === arguments[0]).click();
"""


# Seconds from the next key to the picture of its value, as the page sees them: `redrawn_s`.
WATCH = """
window.redrawn_s = null;
const lines = '.jp-OutputArea-output .widget-html-content';
const text = () => [...document.querySelectorAll(lines)].map(one => one.textContent).join();
const isOld = () => document.querySelector('.jp-OutputArea-output img.widget-image').classList.contains('study-old');
let began = null, wasOld = false;
document.addEventListener('keydown', () => { began = performance.now(); }, {once: true, capture: true});
const watcher = new MutationObserver(() => {
  wasOld = wasOld || isOld();
  if (began === null || !wasOld || isOld() || !text().includes('The picture is of these values')) return;
  window.redrawn_s = (performance.now() - began) / 1000;
  watcher.disconnect();
});
watcher.observe(document.body, {childList: true, subtree: true, characterData: true, attributes: true});
"""


def slide(browser, name):
    from selenium.webdriver.common.keys import Keys
    assert browser.execute_script(ORDER)
    before = wait_for(lambda: browser.execute_script(PICTURE), 30)
    value = browser.execute_script(SLIDE)
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT):
        browser.execute_script(SLIDE)
        browser.execute_script(WATCH)
        browser.switch_to.active_element.send_keys(key)
        redrawn_s = wait_for(lambda: browser.execute_script("return window.redrawn_s"), 120)
        print(f"{name}: redrawn after {redrawn_s:.2f} s")
    assert browser.execute_script(PICTURE) != before
    assert browser.execute_script(SLIDE) != value
    keep(browser, f"{name}-slid")
    browser.execute_script(PRESS, "Keep this run")
    wait_for(lambda: "Kept as run" in browser.execute_script(STATUS), 60)
    browser.execute_script(PRESS, "Reset")
    wait_for(lambda: browser.execute_script(SLIDE) == value, 120)      # compiled code lets no message out while it runs
    wait_for(lambda: "The picture is of these values" in browser.execute_script(STATUS), 120)


def keep(browser, name):
    """A picture of the page, where STUDY_SCREENSHOTS names a folder."""
    folder = os.environ.get("STUDY_SCREENSHOTS")
    if folder:
        browser.save_screenshot(os.path.join(folder, f"{name}.png"))
        with open(os.path.join(folder, f"{name}.json"), "w") as file:
            json.dump(state(browser), file)


THUMBNAILS = "return [...document.querySelectorAll('.jp-OutputArea-output td img')].map(image => image.clientWidth);"


def test_figures_of_the_index_are_as_wide_as_they_should_be(browser, server):
    """A table of JupyterLab makes them as narrow as the words beside them leave room."""
    run_all_cells(browser, server, "index.ipynb")
    widths = wait_for(lambda: browser.execute_script(THUMBNAILS), 60)
    assert set(widths) == {overview.WIDTH}


def test_links_between_notebooks_open_them_in_the_lab(browser, server):
    """From the index to a notebook, and from there to the next one."""
    opened(browser, server, "index.ipynb")
    for words, path in (("90_model_vs_zfs", "90_model_vs_zfs.ipynb"),
                        ("01, a database with and without the fix", "01_vdev_cache_oltp.ipynb")):
        wait_for(lambda words=words: browser.execute_script(FOLLOW, words), 60)
        wait_for(lambda path=path: browser.execute_script(FRONT) == path, 120)


# The notebook shows cells as they come into view: look through all of them.
FOLLOW = """
const panel = jupyterapp.shell.currentWidget;
for (let i = 0; i < panel.content.widgets.length; i++) {
  const link = [...panel.content.widgets[i].node.querySelectorAll('a')].find(a => a.textContent === arguments[0]);
  if (link) { link.click(); return true; }
}
panel.content.node.querySelector('.jp-WindowedPanel-outer').scrollTop += 2000;
return false;
"""
FRONT = """
const panel = jupyterapp.shell.currentWidget;
return panel && panel.context ? panel.context.path : null;
"""


def put(server, name, *cells):
    """A notebook of these cells."""
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=KERNELSPEC)
    content = {"type": "notebook", "format": "json", "content": notebook}
    request = urllib.request.Request(f"{server}/api/contents/{name}?token=study", json.dumps(content).encode(),
                                     {"Content-Type": "application/json"}, method="PUT")
    urllib.request.urlopen(request, timeout=30).close()


# As a tab leaves it that is closed while its kernel starts: a session, and a connection to its kernel that no tab uses.
LEFT = """
return jupyterapp.serviceManager.sessions.startNew(
  {path: arguments[0], name: arguments[0], type: 'notebook', kernel: {name: 'python3'}}).then(() => true);
"""


def test_a_notebook_that_is_opened_again_has_its_widgets(browser, server):
    """JupyterLab gives them to one connection alone."""
    put(server, "again.ipynb", "import ipywidgets", "ipywidgets.Label('here they are')")
    opened(browser, server, "index.ipynb")
    assert browser.execute_script(LEFT, "again.ipynb")
    run_all_cells(browser, server, "again.ipynb")
    wait_for(lambda: "here they are" in browser.execute_script(OUTPUTS), 30)
    browser.execute_script("return jupyterapp.shell.currentWidget.sessionContext.shutdown()")


OUTPUTS = "return [...document.querySelectorAll('.jp-OutputArea-output')].map(one => one.textContent).join(' ');"
PARTS = """
import time
from study.ensembles.processors import on_all_processors
on_all_processors(time.sleep, [(2.0,)] * 3)
"""
BAR = "return document.querySelectorAll('.jp-OutputArea-output progress').length;"
SLOW = """
import time
from study import drawing
from study.errors import UserError
from study.runs import sliders

def simulate(record_kib):
    if record_kib == 32:
        raise UserError("records of 32 KiB are refused; choose less")
    time.sleep(4 if record_kib == 16 else 0)
    return record_kib

def draw(kib):
    figure, axes = drawing.canvas()
    axes.bar([0], [kib])
    return figure

sliders.explore("90_model_vs_zfs", simulate, draw, record_kib=8)
"""
LOOK = "return getComputedStyle(document.querySelector('.jp-OutputArea-output img.widget-image')).opacity;"


def test_a_picture_that_is_computed_or_refused_is_pale_and_the_line_above_says_why(browser, server):
    """A bar below a cell tells how far it is, until it is done."""
    from selenium.webdriver.common.keys import Keys
    put(server, "slow.ipynb", PARTS, SLOW)
    run_all_cells(browser, server, "slow.ipynb", lambda: wait_for(lambda: browser.execute_script(BAR) == 1, 60))
    assert browser.execute_script(BAR) == 0
    wait_for(lambda: browser.execute_script(PICTURE), 60)
    states = (("Computing for 2 s", "0.25"), ("The picture is of these values", "1"),
              ("are refused; choose less. The grey picture is still of record_kib 16", "0.25"))
    for n, (words, opacity) in enumerate(states):
        if opacity != "1":
            browser.execute_script(SLIDE)
            browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        wait_for(lambda words=words: words in browser.execute_script(STATUS), 60)
        wait_for(lambda opacity=opacity: browser.execute_script(LOOK) == opacity, 10)
        keep(browser, f"slow-{n}")
    browser.execute_script("return jupyterapp.shell.currentWidget.sessionContext.shutdown()")


TOLD = """
const told = [...document.querySelectorAll('.jp-OutputArea-output')].map(one => getComputedStyle(one, '::before').content);
return told.filter(words => words.includes('has ended'));
"""
# Hidden where the kernel has ended: the line that says what the picture is of, and a bar.
HIDDEN = """
const [line, bar] = ['.widget-html:has(+ .study-picture)', 'progress'].map(
  selector => document.querySelector('.jp-OutputArea-output ' + selector));
return [line, bar].every(one => getComputedStyle(one).visibility === 'hidden');
"""
COMPUTES = PARTS.replace("2.0", "60.0")
RESTART = "return jupyterapp.shell.currentWidget.sessionContext.restartKernel().then(() => true);"
SHUT_DOWN = "return jupyterapp.shell.currentWidget.sessionContext.shutdown().then(() => true);"


@pytest.mark.parametrize("end", [SHUT_DOWN, RESTART], ids=["shut down", "restarted"])
def test_sliders_and_bars_of_a_kernel_that_has_ended_say_so(browser, server, end):
    """They can be moved still, and the line below them called the picture one of these values."""
    put(server, "ended.ipynb", SLOW, COMPUTES)
    opened(browser, server, "ended.ipynb")
    browser.execute_script("jupyterapp.commands.execute('notebook:run-all-cells')")
    wait_for(lambda: browser.execute_script(PICTURE) and browser.execute_script(BAR), 120)
    assert browser.execute_script(TOLD) == []
    assert browser.execute_script(end)
    wait_for(lambda: len(browser.execute_script(TOLD)) == 2, 30)
    assert browser.execute_script(HIDDEN)
    wait_for(lambda: browser.execute_script(LOOK) == "0.25", 10)
    keep(browser, "ended")
    if end == SHUT_DOWN:
        return
    wait_for(lambda: state(browser)["idle"], 60)
    browser.execute_script("jupyterapp.commands.execute('notebook:run-all-cells')")
    wait_for(lambda: browser.execute_script(PICTURE) and browser.execute_script(BAR), 120)
    assert browser.execute_script(TOLD) == []
    wait_for(lambda: browser.execute_script(LOOK) == "1", 10)
    browser.execute_script(SHUT_DOWN)
