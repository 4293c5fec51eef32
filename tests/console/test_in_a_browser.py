"""Every page in a real browser: both languages, both themes, wide and narrow; nothing scrolls sideways, nothing complains.

Screenshots go to POLICYHUB_SCREENSHOTS, else to pytest's temporary folder, for people to look at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.support.pages import pages
from tests.support.sample_rows import PASSWORD, Sample
from tests.support.services import free_port

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)
IDS: Any = type("Row", (), {"pk": 1, "sensor_id": 1})()
PAGES = {**pages(Sample(*[IDS] * 13)), "changes-proposed": "/changes/3/", "nothing": "/nothing", "docs": "/api/docs"}
SIZES = ((1280, 900), (390, 844))
# Contrast of every text against the nearest painted ground, by WCAG 2's formula; runs in the page.
CONTRAST = """
const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
const part = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
const lum = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const ground = (el) => {
  for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c[3] > 0.99) return c; }
  return [255, 255, 255, 1];
};
const bad = [];
for (const el of document.querySelectorAll('body *')) {
  if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
  if (!el.checkVisibility() || el.closest('.sr, :disabled, option')) continue;
  const s = getComputedStyle(el), a = lum(parse(s.color)), b = lum(ground(el));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) bad.push(`${el.tagName}.${el.className} ${ratio.toFixed(2)} ${el.textContent.slice(0, 30)}`);
}
return bad;
"""
# Every control has a name, every id is there once, headings do not jump.
NAMES = """
const bad = [], ids = {};
for (const el of document.querySelectorAll('[id]')) ids[el.id] = (ids[el.id] || 0) + 1;
for (const [id, n] of Object.entries(ids)) if (n > 1) bad.push(`id ${id} ${n} times`);
for (const el of document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')) {
  const labels = [...el.labels || []].map((label) => label.textContent.trim()).join('');
  if (el.getAttribute('aria-label') || el.textContent.trim() || el.title || labels) continue;
  bad.push(`${el.outerHTML.slice(0, 80)} has no name`);
}
if (document.querySelectorAll('h1').length < 1) bad.push('no h1');
return bad;
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    port = free_port()
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.sample_site", str(folder), str(port)], cwd=ROOT, stdout=log, stderr=log
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{url}/login/", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=60)
        log.close()


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "/usr/bin/chromium"
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or "/usr/bin/chromedriver")
    )


@pytest.fixture(scope="module")
def chrome(site: str) -> Iterator[webdriver.Chrome]:
    driver = browser()
    try:
        driver.get(f"{site}/login/")
        driver.find_element(By.NAME, "username").send_keys("admin")
        driver.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
        until(driver, lambda d: d.find_elements(By.CSS_SELECTOR, ".rail"))
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("POLICYHUB_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def until(driver: webdriver.Chrome, true: Callable[[webdriver.Chrome], Any]) -> None:
    """Waits; an element that a live page swaps while we look at it is looked for again."""
    WebDriverWait(driver, 60, ignored_exceptions=[StaleElementReferenceException, NoSuchElementException]).until(true)


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def complaints(driver: webdriver.Chrome, but: str = "\0") -> list[str]:
    return [
        entry["message"]
        for entry in driver.get_log("browser")
        if entry["level"] in ("SEVERE", "WARNING") and but not in entry["message"]
    ]


# The theme that the server is asked for, and the one that the page is then switched to: nothing but colours depends on it.
@pytest.mark.parametrize(("language", "themes"), [("en", ("light", "dark")), ("zh-hans", ("dark", "light"))])
@pytest.mark.parametrize("name", sorted(PAGES))
def test_page_fits_and_reads(
    site: str, chrome: webdriver.Chrome, shots: Path, name: str, language: str, themes: tuple[str, str]
) -> None:
    chrome.add_cookie({"name": "policyhub_theme", "value": themes[0]})
    chrome.add_cookie({"name": "django_language", "value": language})
    complaints(chrome)
    for width, height in SIZES:
        resize(chrome, width, height)
        chrome.get(site + PAGES[name])
        inner, outer, tall = chrome.execute_script(
            "return [document.documentElement.scrollWidth, innerWidth, document.documentElement.scrollHeight]"
        )
        resize(chrome, width, min(max(height, tall), 2600))
        if name == "docs":  # Swagger's own page: ours is only that it loads, offline
            until(chrome, lambda d: d.find_elements(By.CSS_SELECTOR, ".opblock"))
        chrome.save_screenshot(str(shots / f"{name}-{language}-{themes[0]}-{width}.png"))
        if name == "docs":
            continue
        assert inner <= outer, f"{width} px: the page is {inner} px wide"
        assert chrome.execute_script(NAMES) == []
        assert chrome.execute_script("return document.documentElement.dataset.theme") == themes[0]
        assert chrome.execute_script(CONTRAST) == []
        chrome.execute_script(f"document.documentElement.dataset.theme = '{themes[1]}'")
        assert chrome.execute_script(CONTRAST) == []
    assert complaints(chrome, but="/nothing" if name == "nothing" else "\0") == []


def test_rail_opens_on_a_narrow_screen_and_closes_with_escape(site: str, chrome: webdriver.Chrome) -> None:
    resize(chrome, 390, 844)
    chrome.get(f"{site}/about/")
    entry = chrome.find_element(By.CSS_SELECTOR, '.rail a[data-key="t"]')
    assert not entry.is_displayed()
    chrome.find_element(By.CSS_SELECTOR, ".menu").click()
    assert entry.is_displayed()
    chrome.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    until(chrome, lambda d: not entry.is_displayed())


def test_everything_goes_by_keyboard(site: str, chrome: webdriver.Chrome) -> None:
    resize(chrome, 1280, 900)
    chrome.add_cookie({"name": "django_language", "value": "en"})
    chrome.get(f"{site}/")

    def press(*keys: str) -> None:
        for key in keys:
            webdriver.ActionChains(chrome).send_keys(key).perform()

    press("g", "f")
    until(chrome, lambda d: d.current_url.endswith("/findings/"))
    press("j", "j", "k", "x")
    assert len(chrome.find_elements(By.CSS_SELECTOR, "input[name=finding]:checked")) == 1
    assert chrome.find_element(By.CSS_SELECTOR, "[data-count]").is_enabled()
    press("e")
    until(chrome, lambda d: "/findings/" in d.current_url and not d.current_url.endswith("/findings/"))
    press("?")
    assert chrome.find_element(By.ID, "help").is_displayed()
    press(Keys.ESCAPE)
    press("/")
    assert chrome.switch_to.active_element.get_attribute("id") == "search"
    press("10.10.8.101", Keys.ENTER)
    until(chrome, lambda d: "/search/?q=10.10.8.101" in d.current_url)
    assert "algorithm test" in chrome.find_element(By.TAG_NAME, "main").text


def test_timeline_fills_live_and_leaves_a_half_typed_form_alone(site: str, chrome: webdriver.Chrome) -> None:
    chrome.add_cookie({"name": "django_language", "value": "en"})
    chrome.get(f"{site}/changes/3/")
    until(chrome, lambda d: d.find_element(By.CSS_SELECTOR, ".live").get_attribute("data-state") == "live")
    chrome.find_element(By.ID, "approve-password").send_keys("half")
    chrome.switch_to.new_window("tab")
    chrome.get(f"{site}/changes/3/")
    chrome.find_element(By.CSS_SELECTOR, 'form[action$="/cancel/"] button').click()
    until(chrome, lambda d: "cancelled by admin" in d.find_element(By.CSS_SELECTOR, ".timeline").text)
    chrome.close()
    chrome.switch_to.window(chrome.window_handles[0])
    until(chrome, lambda d: "cancelled by admin" in d.find_element(By.CSS_SELECTOR, ".timeline").text)
    assert chrome.find_element(By.ID, "approve-password").get_attribute("value") == "half"


def test_times_are_shown_in_the_readers_zone(site: str, chrome: webdriver.Chrome) -> None:
    chrome.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Shanghai"})
    chrome.get(f"{site}/audit/")
    element = chrome.find_element(By.CSS_SELECTOR, "td time")
    hour = (int(element.get_attribute("datetime")[11:13]) + 8) % 24
    assert f"{hour:02d}:" in element.text and element.get_attribute("title").endswith(" UTC")
    assert chrome.find_element(By.CSS_SELECTOR, "[data-zone]").text == "Asia/Shanghai (UTC+08:00)"
    chrome.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})


def test_pages_work_without_scripts(site: str) -> None:
    driver = browser()
    try:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        driver.get(f"{site}/login/?next=/findings/%3Fseverity=high")
        driver.find_element(By.NAME, "username").send_keys("viewer")
        driver.find_element(By.NAME, "password").send_keys(PASSWORD, Keys.ENTER)
        until(driver, lambda d: "severity=high" in d.current_url)
        assert "UTC" in driver.find_element(By.CSS_SELECTOR, "td time").text
    finally:
        driver.quit()
