"""Long tables are folded, left aligned, sorted and searched, in any browser and without the network."""
import os
import re
import shutil
from html.parser import HTMLParser

import pandas as pd
import pytest

from study import html_tables
from study.documents import priors
from study.documents.priors import Known, Prior

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FRAME = pd.DataFrame({"name": ["<b> & c", "a", "d"], "time": ["9 µs", "0.35 ms", "8 ms"], "share": [0.5, 10.0, 9.0]})
TITLE = "Ranges & <conditions>"


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def shown():
    return html_tables.table(FRAME, TITLE, digits=1, keys={"time": [9e3, 35e4, 8e6]}).data


def test_a_table_is_folded_and_left_aligned_and_says_what_it_has():
    page = Page(shown())
    assert page.tags[0] == ("details", {})      # not open
    assert page.texts[0] == f"{TITLE} (3 rows)"
    assert page.texts[1:] == ["name", "time", "share", "<b> & c", "9 µs", "0.5", "a", "0.35 ms", "10.0", "d", "8 ms", "9.0"]
    assert all("text-align: left" in attrs["style"] for tag, attrs in page.tags if tag in ("td", "th"))
    assert not {"script", "link"} & {tag for tag, _ in page.tags}


def test_what_rounds_to_nothing_has_no_sign():
    assert Page(html_tables.table(pd.DataFrame({"a": [-0.04]}), TITLE, digits=1).data).texts[-1] == "0.0"


@pytest.mark.parametrize(("unit", "values", "ranged", "central"), [
    ("ns", (5e5, 7e5, 1.1e6), "0.5 to 1.1 ms", "0.7 ms"), ("ns", (2e3, 9e3, 9e4), "2 to 90 µs", "9 µs"),
    ("ns", (1e9, 2e9, 3e9), "1 to 3 s", "2 s"), ("ns", (1, 2, 3), "1 to 3 ns", "2 ns"),
    ("B/s", (6.2e7, 6.48e7, 6.68e7), "62 to 66.8 MB/s", "64.8 MB/s"), ("1", (0.1, 0.5, 0.8), "0.1 to 0.8", "0.5"),
    ("blocks", (2e4, 2e5, 4e6), "20,000 to 4,000,000 blocks", "200,000 blocks")])
def test_priors_are_in_units_that_people_use(unit, values, ranged, central):
    low, middle, high = values
    prior = Prior(name="x", of="disk", experiments=("oltp",), low=low, central=middle, high=high, unit=unit, shape="uniform",
                  source="a book")
    row, = priors.table(Known((prior,), ())).itertuples()
    assert (row.range, row.central) == (ranged, central)


def test_no_prior_of_the_study_has_an_exponent_or_a_long_number():
    for name in ("oltp", "seqread", "order_entry", "checkpoints"):
        known = priors.read(name)
        for cell in priors.table(known._replace(switches=())).range:
            assert not re.search(r"\de[+-]\d|\d{6}", cell), cell


@pytest.mark.slow
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with chromedriver is installed")
def test_a_browser_without_network_unfolds_sorts_and_searches(tmp_path):
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8">{shown()}')
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))

    def column(n):
        return [row.find_elements(By.TAG_NAME, "td")[n].text for row in driver.find_elements(By.CSS_SELECTOR, "tbody tr")
                if row.is_displayed()]
    try:
        driver.get(f"file://{tmp_path}/page.html")
        assert column(0) == []
        driver.find_element(By.TAG_NAME, "summary").click()
        assert column(0) == ["<b> & c", "a", "d"]
        name, time, share = driver.find_elements(By.TAG_NAME, "th")
        for head, n, order in ((time, 1, ["9 µs", "0.35 ms", "8 ms"]), (time, 1, ["8 ms", "0.35 ms", "9 µs"]),
                               (share, 2, ["0.5", "9.0", "10.0"]), (name, 0, ["<b> & c", "a", "d"])):
            head.click()
            assert column(n) == order
        driver.find_element(By.TAG_NAME, "input").send_keys("MS")
        assert column(1) == ["0.35 ms", "8 ms"]
        assert os.path.exists(tmp_path / "profile")
    finally:
        driver.quit()
