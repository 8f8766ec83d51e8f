/** Pages for people: Markdown, and one HTML file that loads nothing. The session's texts are escaped. */
import type { ForeignEntry, Transcript, TranscriptBlock, WrittenTranscript } from "../model.ts";
import { isoTime, LeftOver, resultText } from "./left-over.ts";

const name = ({ header }: Transcript): string =>
  `${header.tool}-${header.sourceId.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 100)}`;

/** Control characters could drive a terminal or hide text; line ends and tabs stay. */
const visible = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");

const inputJson = (input: unknown): string =>
  typeof input === "string" ? input : (JSON.stringify(input, null, 2) ?? "");

function headLines({ header }: Transcript): [string, string][] {
  const rows: [string, string | null][] = [
    ["Tool", `${header.tool}${header.toolVersion === null ? "" : ` ${header.toolVersion}`}`],
    ["Session", header.sourceId],
    ["Started", header.startedAtMs === null ? null : isoTime(header.startedAtMs)],
    ["Directory", header.cwd],
    ["Branch", header.gitBranch],
  ];
  return rows.flatMap(([label, value]) => (value === null ? [] : [[label, visible(value)]]));
}

function speakerOf(entry: ForeignEntry): string {
  if (entry.kind === "compaction") return "Compaction";
  if (entry.kind === "answer") return entry.model === null ? "Agent" : `Agent (${entry.model})`;
  return entry.from === "user" ? "User" : "Context";
}

export function writeMarkdown(transcript: Transcript): WrittenTranscript {
  const left = new LeftOver();
  const { header, entries, tasks } = transcript;
  const parts = [
    `# ${escapeMarkdown(header.title ?? `${header.tool} session`)}`,
    headLines(transcript)
      .map(([label, value]) => `- ${label}: ${escapeMarkdown(value)}`)
      .join("\n"),
    ...entries.flatMap((entry) => markdownEntry(entry, left)),
    ...(tasks.length === 0
      ? []
      : [
          "## Tasks",
          tasks
            .map(({ status, text }) => `- [${status === "done" ? "x" : " "}] ${escapeMarkdown(text)}`)
            .join("\n"),
        ]),
  ];
  return {
    path: `${name(transcript)}.md`,
    text: `${parts.join("\n\n")}\n`,
    sessionId: null,
    left: left.list(),
  };
}

/** One line of text, in which no character has a meaning for Markdown or HTML. */
function escapeMarkdown(text: string): string {
  return visible(text)
    .replace(/\s+/g, " ")
    .replace(/[\\`*_{}[\]<>#|!~]/g, "\\$&");
}

/** A fence longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${visible(text)}\n${fence}`;
}

function markdownEntry(entry: ForeignEntry, left: LeftOver): string[] {
  const head = `## ${escapeMarkdown(speakerOf(entry))}`;
  if (entry.kind === "compaction") return [head, fenced(entry.summary)];
  const blocks = entry.blocks.map((block) => markdownBlock(block, left));
  if (entry.kind === "input") return [head, ...blocks];
  const calls = entry.calls.flatMap((call) => [
    `### ${escapeMarkdown(call.name)} (${call.status})`,
    fenced(inputJson(call.input)),
    fenced(resultText(call)),
  ]);
  const error = entry.error === null ? [] : [`Error: ${escapeMarkdown(entry.error)}`];
  return [head, ...blocks, ...calls, ...error, ...(entry.interrupted ? ["Interrupted."] : [])];
}

function markdownBlock(block: TranscriptBlock, left: LeftOver): string {
  if (block.type === "attachment") {
    if (block.data !== null) left.add("data of an attachment");
    return `Attachment: ${escapeMarkdown(block.name ?? block.mediaType)}`;
  }
  if (block.type === "thinking") return `Thinking:\n\n${fenced(block.text)}`;
  return fenced(block.text);
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string): string => visible(text).replace(/[&<>"']/g, (one) => escapes[one] ?? "");

const style =
  "body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}" +
  "section{border-top:1px solid #ddd;padding:.7rem 0}h2{font-size:.85rem;color:#555;margin:0 0 .4rem}" +
  "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font:inherit}" +
  "details pre{font:13px/1.4 ui-monospace,monospace;background:#f5f5f5;padding:.5rem}img{max-width:100%}";

export function writeHtml(transcript: Transcript): WrittenTranscript {
  const left = new LeftOver();
  const { header, entries, tasks } = transcript;
  const title = escapeHtml(header.title ?? `${header.tool} session`);
  const items = tasks.map(({ status, text }) => `<li>${status}: ${escapeHtml(text)}</li>`).join("");
  const body = [
    `<h1>${title}</h1>`,
    `<p>${headLines(transcript)
      .map(([label, value]) => `${label}: ${escapeHtml(value)}`)
      .join("<br>")}</p>`,
    ...entries.map((entry) => htmlEntry(entry, left)),
    ...(tasks.length === 0 ? [] : [`<section><h2>Tasks</h2><ul>${items}</ul></section>`]),
  ];
  // The policy keeps a browser from loading or running anything, whatever slipped through.
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
  const text =
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">` +
    `<meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<title>${title}</title><style>${style}</style></head>\n<body>\n${body.join("\n")}\n</body></html>\n`;
  return { path: `${name(transcript)}.html`, text, sessionId: null, left: left.list() };
}

function htmlEntry(entry: ForeignEntry, left: LeftOver): string {
  const at = entry.atMs === null ? "" : ` · ${isoTime(entry.atMs)}`;
  const head = `<h2>${escapeHtml(speakerOf(entry))}${at}</h2>`;
  if (entry.kind === "compaction") return `<section>${head}${pre(entry.summary)}</section>`;
  const blocks = entry.blocks.map((block) => htmlBlock(block, left)).join("");
  if (entry.kind === "input") return `<section>${head}${blocks}</section>`;
  const calls = entry.calls
    .map((call) => folded(`${call.name} (${call.status})`, `${inputJson(call.input)}\n\n${resultText(call)}`))
    .join("");
  const error = entry.error === null ? "" : `<p>Error: ${escapeHtml(entry.error)}</p>`;
  const end = entry.interrupted ? "<p>Interrupted.</p>" : "";
  return `<section>${head}${blocks}${calls}${error}${end}</section>`;
}

const pre = (text: string): string => `<pre>${escapeHtml(text)}</pre>`;

const folded = (label: string, text: string): string =>
  `<details><summary>${escapeHtml(label)}</summary>${pre(text)}</details>`;

function htmlBlock(block: TranscriptBlock, left: LeftOver): string {
  if (block.type === "text") return pre(block.text);
  if (block.type === "thinking") return folded("Thinking", block.text);
  const label = escapeHtml(block.name ?? block.mediaType);
  const isImage = /^image\/(png|jpeg|gif|webp)$/.test(block.mediaType);
  if (block.data !== null && isImage && /^[A-Za-z0-9+/=]*$/.test(block.data))
    return `<img alt="${label}" src="data:${block.mediaType};base64,${block.data}">`;
  if (block.data !== null) left.add("data of an attachment other than an image");
  return `<p>Attachment: ${label}</p>`;
}
