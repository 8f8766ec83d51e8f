/**
 * A session as one self-contained HTML file: no script, no URL, images inlined. Everything that comes from
 * the log is escaped, and the page's own policy forbids the rest.
 */
import { exact } from "./moment.ts";
import { verdictOf, type TextBlock, type Scene, type TranscriptPage } from "./transcript.ts";

/** Returns the bytes of an image; null when it is missing. */
export type ReadImage = (hash: string) => Promise<Uint8Array | null>;

/** Types that a browser shows as a picture and never runs. */
const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const imageBytesMax = 4_194_304;

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
header p, .at, footer { color: #555; } h1 { line-height: 1.2; }
.scene { border-left: 4px solid #ccc; padding: 0 0 0 1rem; margin: 1.25rem 0; }
.person { border-color: #2a7; } .model { border-color: #36c; } .call, .result { border-color: #b70; }
.lost { opacity: 0.5; } .lost h2::after { content: " (rewound away)"; font-weight: normal; }
h2 { font-size: 1rem; margin: 0; } .at { font-size: 0.8rem; font-weight: normal; margin-left: 0.5rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f4f4f4; padding: 0.5rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.25rem 0; } img { max-width: 100%; }
table { border-collapse: collapse; width: 100%; } td, th { border: 1px solid #ddd; padding: 0.3rem 0.5rem;
text-align: left; vertical-align: top; overflow-wrap: anywhere; } .ok { color: #161; } .bad { color: #a11; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; } pre { background: #222; }
header p, .at, footer { color: #999; } td, th { border-color: #444; } .ok { color: #6c6; }
.bad { color: #f77; } }
`;

export const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

export async function* htmlOf(page: TranscriptPage, read: ReadImage): AsyncGenerator<string> {
  const { id, title, objective, status, agent, model, head, verified } = page;
  const facts = [id, status, ...[agent, model].filter((fact) => fact !== null)];
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`;
  yield `<meta http-equiv="Content-Security-Policy" content="${policy}">\n`;
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n`;
  yield `<title>${escaped(title)}</title>\n<style>${style}</style>\n</head>\n<body>\n`;
  yield `<header><h1>${escaped(title)}</h1><p>${escaped(facts.join(" · "))}</p>`;
  yield `<div class="text">${escaped(objective)}</div></header>\n<main>\n`;
  for await (const scene of page.scenes()) yield await sceneHtml(scene, read);
  yield `</main>\n<section><h1>What it knows</h1>\n${itemsHtml(page)}</section>\n`;
  const color = verified.ok ? "ok" : "bad";
  yield `<footer><h1>Verification</h1><p class="${color}">${escaped(verdictOf(page))}</p>`;
  yield `<p>Head: ${head.seq} <code>${escaped(head.hash)}</code></p></footer>\n</body>\n</html>\n`;
}

async function sceneHtml(scene: Scene, read: ReadImage): Promise<string> {
  const { seq, at, who, title, said, lost } = scene;
  const parts: string[] = [];
  for (const one of said) parts.push(await saidHtml(one, read));
  const inner = parts.join("");
  const shown = who === "reasoning" ? `<details><summary>show</summary>${inner}</details>` : inner;
  const heading = `<h2>${escaped(title)}<span class="at">${seq} · ${escaped(exact(at))}</span></h2>`;
  return `<article class="scene ${who}${lost ? " lost" : ""}" id="e${seq}">${heading}${shown}</article>\n`;
}

async function saidHtml(said: TextBlock, read: ReadImage): Promise<string> {
  if (said.kind !== "image") {
    const tag = said.kind === "code" ? "pre" : 'div class="text"';
    return `<${tag}>${escaped(said.text)}</${said.kind === "code" ? "pre" : "div"}>`;
  }
  const bytes = pictures.has(said.mediaType) ? await read(said.blob) : null;
  if (bytes === null || bytes.length > imageBytesMax) {
    return `<p>[image ${escaped(said.mediaType)}, blob ${escaped(said.blob)}]</p>`;
  }
  const base64 = Buffer.from(bytes).toString("base64");
  return `<img alt="an image" src="data:${said.mediaType};base64,${base64}">`;
}

function itemsHtml({ items }: TranscriptPage): string {
  if (items.length === 0) return "<p>Nothing was recorded.</p>";
  const rows = items.map(({ kind, key, status, value, because, erased }) => {
    const shown = erased ? "(erased)" : typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    const cells = [kind, key, status ?? "", shown, typeof because === "string" ? because : ""];
    return `<tr>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`;
  });
  const titles = ["kind", "key", "status", "value", "because"].map((title) => `<th>${title}</th>`).join("");
  return `<table><tr>${titles}</tr>\n${rows.join("\n")}</table>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Also signs that turn the direction of text, and controls, which could make a page say something else. */
export const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? "")
    .replaceAll(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
