/** Dark and light: the system's choice until somebody makes another. */

const KEY = "emberscope-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

class Theme {
  isDark = $state(true);
}

export const theme = new Theme();

function look(): void {
  theme.isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
}

export function applyStoredTheme(): void {
  const known = stored();
  if (known === "dark" || known === "light") document.documentElement.dataset.theme = known;
  look();
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", look);
}

export function switchTheme(): void {
  document.documentElement.dataset.theme = theme.isDark ? "light" : "dark";
  try {
    localStorage.setItem(KEY, document.documentElement.dataset.theme);
  } catch {
    // A browser that keeps nothing shows the choice until the page is left.
  }
  look();
}

/** A colour of the current theme, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
