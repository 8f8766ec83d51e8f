/** The search dialog: a combobox over every section of the site. The index is made in the browser. */
import MiniSearch from "minisearch";
import type { SearchSection } from "./sections.ts";

const root = document.documentElement;
const resultsMax = 24;

type Index = MiniSearch<SearchSection & { readonly id: number }>;
let loading: Promise<{ readonly index: Index; readonly sections: readonly SearchSection[] }> | null = null;

/** `session.fork` is found by `fork`, `openEngine` by `engine`. */
const termsOf = (text: string): string[] =>
  text
    .split(/[^\p{L}\p{N}_]+/u)
    .flatMap((word) => [word, ...word.split(/_|(?<=[a-z])(?=[A-Z])/)])
    .filter((word, at, all) => word !== "" && all.indexOf(word) === at);

async function loadIndex() {
  const answer = await fetch(new URL(root.dataset["sections"] ?? "", location.href));
  const sections = (await answer.json()) as readonly SearchSection[];
  const index: Index = new MiniSearch({
    fields: ["title", "heading", "text"],
    tokenize: termsOf,
    searchOptions: {
      boost: { title: 3, heading: 4 },
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: "AND",
      boostDocument: (id, term) => weightOf(sections[Number(id)], term),
    },
  });
  index.addAll(sections.map((section, id) => ({ id, ...section })));
  return { index, sections };
}

/** A page or part of exactly this name first; guides before types, examples and decisions. */
function weightOf(section: SearchSection | undefined, term: string): number {
  if (section === undefined) return 1;
  const { page, title, heading } = section;
  const name = (heading === "" ? title : heading).toLowerCase();
  const isNamed = name === term || name === `${term}s` || name === `skein ${term}`;
  const isOld = page.startsWith("adr/") || page === "changelog";
  const isDetail = page.startsWith("examples/") || page === "api" || page.startsWith("api/skein");
  return (isOld ? 0.4 : isDetail ? 0.6 : 1) * (isNamed ? 3 : 1) * (heading === "" ? 1.3 : 1);
}

let dialog: HTMLDialogElement | null = null;

export function openSearch(): void {
  loading ??= loadIndex();
  dialog ??= makeDialog();
  if (!dialog.open) dialog.showModal();
  const input = dialog.querySelector("input");
  input?.focus();
  input?.select();
}

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeDialog(): HTMLDialogElement {
  const input = make("input", {
    // Not "search": there Escape clears the field first, and the dialog stays.
    type: "text",
    placeholder: "Search the docs",
    "aria-label": "Search the docs",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "results",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "go",
  });
  const list = make("div", { id: "results", class: "results", role: "listbox", "aria-label": "Results" });
  const status = make("p", { class: "status", role: "status" });
  const close = make("button", { type: "button", class: "close" }, "Close");
  const help = make("p", { class: "keys", "aria-hidden": "true" }, "↑ ↓ select · ↵ open · esc close");
  const made = make("dialog", { class: "search", "aria-label": "Search" });
  made.append(make("div", { class: "field" }, input, close), list, status, help);
  close.addEventListener("click", () => made.close());
  made.addEventListener("click", (event) => {
    if (event.target === made) made.close();
  });
  input.addEventListener("input", () => void showResults(input, list, status));
  input.addEventListener("keydown", (event) => moveSelection(event, input, list));
  document.body.append(made);
  return made;
}

async function showResults(input: HTMLInputElement, list: HTMLElement, status: HTMLElement): Promise<void> {
  const words = input.value.trim();
  const { index, sections } = await (loading ??= loadIndex());
  if (words !== input.value.trim()) return;
  const exact = words === "" ? [] : index.search(words);
  // One wrong word must not empty the list.
  const found = exact.length > 0 || words === "" ? exact : index.search(words, { combineWith: "OR" });
  const rows = found.slice(0, resultsMax).flatMap(({ id, terms }, at) => {
    const section = sections[Number(id)];
    return section === undefined ? [] : [resultRow(section, terms, at)];
  });
  list.replaceChildren(...rows);
  list.scrollTop = 0;
  status.textContent = words === "" ? "" : rows.length === 0 ? "No results" : "";
  input.setAttribute("aria-expanded", String(rows.length > 0));
  select(input, list, 0);
}

function resultRow(section: SearchSection, terms: readonly string[], at: number): HTMLAnchorElement {
  const { page, anchor, title, heading, group, text } = section;
  const base = new URL(root.dataset["root"] ?? "./", location.href);
  const url = new URL(`${page}.html${anchor === "" ? "" : `#${anchor}`}`, base);
  const place = [group, ...(heading === "" ? [] : [title])].join(" / ");
  const row = make(
    "a",
    { href: url.href, role: "option", id: `result-${at}`, tabindex: "-1", "aria-selected": "false" },
    make("small", {}, place),
    make("b", {}, ...marked(heading === "" ? title : heading, terms)),
    make("span", {}, ...marked(excerptOf(text, terms), terms)),
  );
  row.addEventListener("click", () => dialog?.close());
  return row;
}

const excerptChars = 140;

function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase();
  const hits = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const first = hits.length === 0 ? 0 : Math.min(...hits);
  const start = first < 60 ? 0 : text.lastIndexOf(" ", first - 40) + 1;
  const piece = text.slice(start, start + excerptChars);
  return `${start > 0 ? "… " : ""}${piece}${start + excerptChars < text.length ? " …" : ""}`;
}

function marked(text: string, terms: readonly string[]): (Node | string)[] {
  const escaped = terms.map((term) => term.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (escaped.length === 0) return [text];
  const pieces = text.split(new RegExp(`(${escaped.join("|")})`, "gi"));
  return pieces.map((piece, at) => (at % 2 === 1 ? make("mark", {}, piece) : piece));
}

function select(input: HTMLInputElement, list: HTMLElement, to: number): void {
  const rows = [...list.children];
  rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === to)));
  const chosen = rows[to];
  if (chosen === undefined) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", chosen.id);
  chosen?.scrollIntoView({ block: "nearest" });
}

function moveSelection(event: KeyboardEvent, input: HTMLInputElement, list: HTMLElement): void {
  const rows = [...list.children];
  const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
  if (event.key === "Enter") {
    event.preventDefault();
    const row = rows[at];
    if (!(row instanceof HTMLAnchorElement)) return;
    dialog?.close();
    location.assign(row.href);
  }
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || rows.length === 0) return;
  event.preventDefault();
  select(input, list, (at + step + rows.length) % rows.length);
}
