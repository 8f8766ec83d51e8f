/** Colors code at build time. Classes only: the content security policy forbids inline styles. */
import { createRequire } from "node:module";

interface Highlighter {
  registerLanguage(name: string, language: unknown): void;
  highlight(code: string, options: { readonly language: string }): { readonly value: string };
}

// Its own types would bring those of a browser into every file of the repository.
const load = createRequire(import.meta.url);
const hljs = load("highlight.js/lib/core") as Highlighter;
const languages = ["bash", "ini", "json", "markdown", "python", "sql", "typescript", "yaml"];
for (const name of languages) hljs.registerLanguage(name, load(`highlight.js/lib/languages/${name}`));

const names: Readonly<Record<string, string>> = {
  sh: "bash",
  ts: "typescript",
  js: "typescript",
  md: "markdown",
  yml: "yaml",
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[one] ?? "&quot;");

/** HTML of a code block; unknown languages stay plain. */
export function highlightCode(code: string, language: string): string {
  const name = names[language] ?? language;
  return languages.includes(name) ? hljs.highlight(code, { language: name }).value : escapeHtml(code);
}

/** Links the names in highlighted code. Only text between tags changes. */
export function linkNames(html: string, linkOf: (name: string) => string | undefined): string {
  return html.replace(/<[^>]*>|&\w+;|\b[A-Za-z_]\w*\b/g, (match) => {
    if (match.startsWith("<") || match.startsWith("&")) return match;
    const href = linkOf(match);
    return href === undefined ? match : `<a href="${href}">${match}</a>`;
  });
}
