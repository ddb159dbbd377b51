(() => {
  const root = document.documentElement;
  const remember = (value) => { try { localStorage.setItem("emberscope-theme", value); } catch { /* a file has no store */ } };
  const recall = () => { try { return localStorage.getItem("emberscope-theme"); } catch { return null; } };
  const isDark = () => getComputedStyle(root).colorScheme === "dark";
  const known = recall();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  for (const button of document.querySelectorAll("button[hidden]")) button.hidden = false;
  const theme = document.getElementById("theme");
  const say = () => { theme.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours"); };
  say();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    say();
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const text = button.dataset.copy;
    const label = button.textContent;
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    button.textContent = done ? "Copied" : "Select and copy by hand";
    setTimeout(() => { button.textContent = label; }, 1600);
  });
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const more = target && target.closest("details");
    if (more) { more.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
})();
