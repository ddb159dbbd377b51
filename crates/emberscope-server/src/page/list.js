"use strict";
(() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const store = (value) => { try { localStorage.setItem("emberscope-theme", value); } catch { /* not allowed */ } };
  const stored = () => { try { return localStorage.getItem("emberscope-theme"); } catch { return null; } };
  const known = stored();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  const isDark = () => getComputedStyle(root).colorScheme === "dark";
  const theme = $("theme");
  const say = () => theme.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
  theme.hidden = false;
  say();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    store(root.dataset.theme);
    say();
  });

  const input = $("q"), rows = $("rows"), told = $("told"), more = $("more"), keys = $("keys");
  const state = { q: input.value, sort: rows.dataset.sort, limit: Number(rows.dataset.limit) };
  const step = state.limit;
  let asked = 0;

  const address = () => {
    const query = new URLSearchParams();
    if (state.q) query.set("q", state.q);
    if (state.sort !== "-start") query.set("sort", state.sort);
    const text = query.toString();
    return text ? `/list?${text}` : "/list";
  };

  // The server makes the rows; text of a log is escaped in one place only.
  const load = async () => {
    const mine = ++asked;
    const url = new URL(address(), location.href);
    url.searchParams.set("limit", String(state.limit));
    let text;
    try {
      const answer = await fetch(url, { headers: { accept: "text/html" } });
      text = await answer.text();
      if (!answer.ok) throw new Error(String(answer.status));
    } catch {
      told.textContent = "The server does not answer; the list is as it was.";
      return;
    }
    if (mine !== asked) return;
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const focus = document.activeElement && document.activeElement.getAttribute("href");
    for (const id of ["list", "told", "count"]) $(id).replaceChildren(...fresh.getElementById(id).childNodes);
    more.hidden = fresh.getElementById("more").hidden;
    if (focus && focus.startsWith("/runs/")) {
      const links = [...document.querySelectorAll("#list td a")];
      const again = links.find((link) => link.getAttribute("href") === focus);
      if (again) again.focus();
    }
  };

  let waiting;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      state.q = input.value.trim();
      state.limit = step;
      history.replaceState(null, "", address());
      load();
    }, 120);
  });
  $("find").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = document.querySelector("#list td a");
    if (first) first.focus();
  });
  $("list").addEventListener("click", (event) => {
    const head = event.target.closest("th a");
    if (!head) return;
    event.preventDefault();
    state.sort = new URL(head.href).searchParams.get("sort") || "-start";
    history.replaceState(null, "", address());
    load();
  });
  more.addEventListener("click", () => { state.limit += step; load(); });

  const move = (by) => {
    const links = [...document.querySelectorAll("#list td a")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  $("help").hidden = false;
  $("help").addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    const isTyping = event.target === input;
    if (isTyping && event.key === "Escape") { input.blur(); return; }
    if (event.key === "ArrowDown" || (event.key === "j" && !isTyping)) move(1);
    else if (event.key === "ArrowUp" || (event.key === "k" && !isTyping)) move(-1);
    else if (event.key === "/" && !isTyping) input.focus();
    else if (event.key === "?" && !isTyping) keys.showModal();
    else return;
    event.preventDefault();
  });
  // New and growing logs appear by themselves, while somebody looks.
  setInterval(() => { if (!document.hidden && !keys.open) load(); }, 5000);
})();
