/** Light or dark: the system's theme, unless the user chose one. */
import { cell } from "./signal.ts";

export type Theme = "system" | "light" | "dark";
const themes: readonly Theme[] = ["system", "light", "dark"];
const kept = "skein-theme";

export const theme = cell<Theme>("system");

export function startTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const chosen = theme.get() === "system" ? (system.matches ? "dark" : "light") : theme.get();
    document.documentElement.dataset["theme"] = chosen;
  };
  const before = themes.find((one) => one === localStorage.getItem(kept));
  if (before !== undefined) theme.set(before);
  apply();
  system.addEventListener("change", apply);
  theme.watch(apply);
}

/** The next of the three. */
export function turnTheme(): Theme {
  const next = themes[(themes.indexOf(theme.get()) + 1) % themes.length] ?? "system";
  theme.set(next);
  localStorage.setItem(kept, next);
  return next;
}
