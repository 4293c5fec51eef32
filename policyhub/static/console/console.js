/* Keyboard, live pages, local times. Every page works without it; nothing here decides anything. */
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  /* Times: the server writes UTC, the reader sees his own zone. */
  const pad = (n) => String(n).padStart(2, "0");
  const sameDay = (a, b) => a.toDateString() === b.toDateString();
  function localTimes(root) {
    const now = new Date();
    for (const el of $$("time[datetime]:not([data-countdown])", root)) {
      const at = new Date(el.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
      const day = `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
      const year = at.getFullYear() === now.getFullYear() ? "" : `${at.getFullYear()}-`;
      el.textContent = sameDay(at, now) ? clock : `${year}${day} ${clock.slice(0, 5)}`;
    }
  }
  function zone() {
    const away = -new Date().getTimezoneOffset(), far = Math.abs(away);
    const from = away ? `UTC${away < 0 ? "-" : "+"}${pad(Math.floor(far / 60))}:${pad(far % 60)}` : "UTC";
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    for (const el of $$("[data-zone]")) el.textContent = !name || name === "UTC" ? from : `${name} (${from})`;
  }
  function countdowns() {
    for (const el of $$("time[data-countdown]")) {
      const left = Math.round((new Date(el.dateTime) - Date.now()) / 1000);
      if (left <= 0) { el.textContent = el.dataset.over; continue; }
      const h = Math.floor(left / 3600), m = Math.floor(left % 3600 / 60), s = left % 60;
      const [hours, minutes, seconds] = document.documentElement.lang.startsWith("zh") ? ["小时", "分", "秒"] : ["h", "min", "s"];
      el.textContent = h ? `${h} ${hours} ${pad(m)} ${minutes}` : m ? `${m} ${minutes} ${pad(s)} ${seconds}` : `${s} ${seconds}`;
    }
  }

  /* Live pages: an event makes the page fetch itself and swap its parts, except one in which somebody types. */
  function typing(part) {
    return part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")
      || $$("input:not([type=hidden]), textarea", part).some((el) => el.type !== "checkbox" ? el.value !== el.defaultValue : el.checked);
  }
  const seen = new WeakMap();
  async function refresh() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of $$("[data-part]")) {
      const next = $(`[data-part="${part.dataset.part}"]`, fresh);
      if (!next || typing(part) || next.innerHTML === seen.get(part)) continue;
      part.innerHTML = next.innerHTML;
      seen.set(part, next.innerHTML);
      localTimes(part);
    }
    countdowns();
  }
  function live(root) {
    const sign = () => $(".live");
    let timer = 0, running = false, again = false, polling = 0, failures = 0, said = "";
    const run = async () => {
      if (running) { again = true; return; }
      running = true;
      try { await refresh(); } catch { /* the next event tries again */ }
      if (said) say(said); // the sign may be among what was replaced
      running = false;
      if (again) { again = false; soon(); }
    };
    const soon = () => { clearTimeout(timer); timer = setTimeout(run, 250); };
    const say = (state) => { said = state; const el = sign(); if (el) { el.dataset.state = state; $(".dot", el).className = `dot ${state === "live" ? "good" : "wait"}`; } };
    const poll = () => { if (!polling) { say("polling"); polling = setInterval(run, 5000); } };
    const connect = () => {
      const source = new EventSource(root.dataset.events);
      source.onopen = () => { failures = 0; clearInterval(polling); polling = 0; say("live"); };
      source.onerror = () => { failures += 1; if (failures > 2 || source.readyState === 2) { poll(); if (source.readyState === 2) setTimeout(connect, 15000); } };
      for (const name of ["change", "enforcement", "preflight", "home"]) source.addEventListener(name, soon);
      addEventListener("pagehide", () => source.close(), { once: true });
    };
    if (window.EventSource) connect(); else poll();
  }

  /* Keyboard. */
  let waiting = 0, cursor = -1;
  const rows = () => $$("tr[data-row], li[data-row]");
  function move(step) {
    const all = rows();
    if (!all.length) return;
    all[cursor]?.classList.remove("cursor");
    cursor = Math.max(0, Math.min(all.length - 1, cursor + step));
    all[cursor].classList.add("cursor");
    const link = $("a", all[cursor]);
    link?.focus({ preventScroll: true });
    all[cursor].scrollIntoView({ block: "nearest" });
  }
  const keys = {
    "/": () => $("#search")?.focus(),
    "?": () => $("#help")?.showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => $("input[type=checkbox]", rows()[cursor])?.click(),
    e: () => { const el = (rows()[cursor] && $("[data-evidence]", rows()[cursor])) || $("[data-evidence]"); el?.matches("a") ? el.click() : el?.scrollIntoView({ behavior: "smooth" }); el?.focus?.(); },
    g: () => { waiting = Date.now(); },
  };
  addEventListener("keydown", (event) => {
    const field = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && field) { field.blur(); return; }
    if (field || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
    if (Date.now() - waiting < 1500) {
      waiting = 0;
      const entry = $(`.rail a[data-key="${CSS.escape(event.key)}"]`);
      if (entry) { event.preventDefault(); entry.click(); return; }
    }
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  /* Small conveniences. */
  addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
    const all = event.target.closest("[data-all]");
    if (all) for (const box of $$("input[type=checkbox][name]", all.closest("form"))) box.checked = all.checked;
    const form = event.target.form;
    if (form) for (const el of $$("[data-count]", form)) el.disabled = !$$("input[type=checkbox][name]:checked", form).length;
  });
  addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) $("#help")?.showModal();
    if (event.target.matches("dialog")) event.target.close();
  });
  addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && event.target.method === "post") setTimeout(() => { button.disabled = true; setTimeout(() => { button.disabled = false; }, 4000); });
  });

  localTimes(document);
  zone();
  countdowns();
  setInterval(countdowns, 1000);
  const page = $("[data-events]");
  if (page) live(page);
})();
