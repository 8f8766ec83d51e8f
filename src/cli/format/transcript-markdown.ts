/** A session as Markdown. Foreign text is fenced or quoted: it cannot pass for the page itself. */
import { escapeHtml } from "./markdown-escape.ts";
import { exact } from "./moment.ts";
import { verdictOf, type TextBlock, type Scene, type TranscriptPage } from "./transcript.ts";
import { oneLine } from "./text.ts";

export async function* markdownOf(page: TranscriptPage): AsyncGenerator<string> {
  const { id, objective, status, agent, model, head } = page;
  yield `# ${heading(page.title)}\n\n`;
  yield `- session: \`${id}\`\n- status: ${status}\n`;
  if (agent !== null) yield `- agent: ${heading(agent)}\n`;
  if (model !== null) yield `- model: ${heading(model)}\n`;
  yield `\n${quoted(objective)}\n\n## Transcript\n\n`;
  for await (const scene of page.scenes()) yield sceneText(scene);
  yield "## What it knows\n\n";
  for (const { kind, key, value, because, status: task } of page.items) {
    const state = task === null || task === undefined ? "" : ` (${task})`;
    yield `- ${kind} **${heading(key)}**${state}: ${heading(plain(value))}\n`;
    if (typeof because === "string") yield `  because ${heading(because)}\n`;
  }
  yield `\n## Verification\n\n${heading(verdictOf(page))}\n\nHead: ${head.seq} \`${head.hash}\`\n`;
}

function sceneText({ seq, at, title, said, lost }: Scene): string {
  const gone = lost ? " (rewound away)" : "";
  const head = `### ${seq} · ${heading(title)}${gone}\n\n_${exact(at)}_\n\n`;
  return head + said.map((one) => `${saidText(one)}\n\n`).join("");
}

function saidText(said: TextBlock): string {
  switch (said.kind) {
    case "text":
      return quoted(said.text);
    case "code":
      return fenced(said.text);
    case "image":
      return `> [image ${heading(said.mediaType)}, blob \`${said.blob}\`]`;
  }
}

/** On one line, with the signs that mean something to Markdown made plain. */
const heading = (text: string): string => oneLine(text).replaceAll(/[\\`*_[\]<>#|]/g, (sign) => `\\${sign}`);

const quoted = (text: string): string =>
  escapeHtml(text)
    .map((line) => `> ${line}`)
    .join("\n");

/** A fence longer than any within. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

const plain = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
