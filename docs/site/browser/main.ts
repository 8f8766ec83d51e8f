/** The script of every page: theme, navigation on a phone, outline, copy buttons and the keys of search. */
import "../site.css";

const root = document.documentElement;
const each = (selector: string, run: (button: HTMLButtonElement) => void): void =>
  document.querySelectorAll<HTMLButtonElement>(selector).forEach(run);

const systemTheme = matchMedia("(prefers-color-scheme: dark)");
const chosenTheme = (): string | null => localStorage.getItem("skein-theme");
systemTheme.addEventListener("change", () => {
  const isChosen = ["dark", "light"].includes(chosenTheme() ?? "");
  if (!isChosen) root.dataset["theme"] = systemTheme.matches ? "dark" : "light";
});

each("[data-theme-switch]", (button) => {
  const label = (): void =>
    button.setAttribute("aria-label", `Theme: ${root.dataset["theme"] ?? "light"}. Switch theme`);
  label();
  button.addEventListener("click", () => {
    const next = root.dataset["theme"] === "dark" ? "light" : "dark";
    root.dataset["theme"] = next;
    localStorage.setItem("skein-theme", next);
    label();
  });
});

// On a phone the navigation opens over the page.
const side = document.querySelector<HTMLElement>("#nav");
const menu = document.querySelector<HTMLButtonElement>("[data-menu]");
const shade = document.querySelector<HTMLElement>("[data-shade]");
const narrow = matchMedia("(max-width: 860px)");

function openMenu(isOpen: boolean): void {
  side?.classList.toggle("open", isOpen);
  // What lies outside the screen takes no focus.
  side?.toggleAttribute("inert", narrow.matches && !isOpen);
  menu?.setAttribute("aria-expanded", String(isOpen));
  if (shade !== null) shade.hidden = !isOpen;
  if (isOpen) side?.querySelector<HTMLElement>("a, button")?.focus();
}
openMenu(false);
narrow.addEventListener("change", () => openMenu(false));
menu?.addEventListener("click", () => openMenu(side?.classList.contains("open") !== true));
shade?.addEventListener("click", () => openMenu(false));
side?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: "center" });
window.scrollTo({ top: location.hash === "" ? 0 : window.scrollY });

each(".copy", (button) => {
  button.addEventListener("click", () => {
    const text = button.parentElement?.querySelector("code")?.textContent ?? "";
    const show = (word: string): void => {
      button.textContent = word;
      setTimeout(() => (button.textContent = "Copy"), 1_600);
    };
    navigator.clipboard.writeText(text).then(
      () => show("Copied"),
      () => show("Failed"),
    );
  });
});

// The heading that was passed last is the current one of the outline.
const links = new Map(
  [...document.querySelectorAll<HTMLAnchorElement>(".outline a")].map((link) => [link.hash.slice(1), link]),
);
const headings = [...links.keys()].flatMap((id) => document.getElementById(id) ?? []);

function markOutline(): void {
  const passed = headings.findLast((one) => one.getBoundingClientRect().top < 120) ?? headings[0];
  for (const [id, link] of links) {
    const isHere = id === passed?.id;
    if (isHere === link.hasAttribute("aria-current")) continue;
    link.toggleAttribute("aria-current", isHere);
    if (isHere) link.setAttribute("aria-current", "true");
    const list = link.closest<HTMLElement>(".outline");
    if (isHere && list !== null && list.scrollHeight > list.clientHeight)
      list.scrollTop = link.offsetTop - list.clientHeight / 2;
  }
}
if (headings.length > 0) {
  let isDue = false;
  addEventListener(
    "scroll",
    () => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        markOutline();
      });
    },
    { passive: true },
  );
  markOutline();
}

// Search loads on its first use.
const openSearch = async (): Promise<void> => (await import("./search.ts")).openSearch();
each("[data-search]", (button) => {
  button.addEventListener("click", () => void openSearch());
});

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;

addEventListener("keydown", (event) => {
  const isCommand = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  const isSlash =
    event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);
  if (event.key === "Escape" && side?.classList.contains("open") === true) {
    openMenu(false);
    menu?.focus();
  }
  if (!isCommand && !isSlash) return;
  event.preventDefault();
  void openSearch();
});
