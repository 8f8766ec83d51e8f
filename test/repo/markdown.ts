/** What the rules need to know of a Markdown page: its code blocks, its links and its anchors. */

export interface Page {
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly path: string;
  /** The line after the opening fence, counted from 1. */
  readonly line: number;
  /** The words after the fence: the language, then any marks. */
  readonly marks: readonly string[];
  readonly code: string;
}

const fence = /^( *)(```+|~~~+)(.*)\n([\s\S]*?)^ *\2 *$/gm;

export function blocksOf({ path, text }: Page): Block[] {
  return [...text.matchAll(fence)].map((match) => {
    const [, indent = "", , marks = "", code = ""] = match;
    return {
      path,
      line: text.slice(0, match.index).split("\n").length + 1,
      marks: marks.trim().split(/\s+/),
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    };
  });
}

/** What the examples of doc comments take as given. */
const given = [
  'import * as z from "zod";',
  'import { homedir } from "node:os";',
  'import { readFile } from "node:fs/promises";',
  'import { defineTool, openEngine, SkeinError, ToolOutput, type Engine, type Session } from "skein";',
  'import { listTickets, mergePlan, parsePlan, runPlan } from "skein/tickets";',
  "import { findTranscripts, importTranscripts, readTranscript, SourceFolder, watchTranscripts } " +
    'from "skein/transcripts";',
  "declare const engine: Engine, session: Session, plan: ReturnType<typeof parsePlan>;",
  "declare const prices: Map<string, string>, rows: readonly unknown[];",
].join(" ");

/** The `@example`s of the doc comments of a source file, each with what it takes as given. */
export function docExamplesOf({ path, text }: Page): Block[] {
  return [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/).*\n)+)/gm)].map((match) => {
    const lines = (match[1] ?? "").split("\n").map((line) => line.replace(/^ *\* ?/, ""));
    const end = lines.findIndex((line) => line.startsWith("@"));
    const code = (end === -1 ? lines : lines.slice(0, end)).join("\n");
    const line = text.slice(0, match.index).split("\n").length;
    return { path, line, marks: ["ts"], code: `${given} async function example() {\n${code}\n}` };
  });
}

/** Targets of links and images, without those to other sites. */
export function linksOf({ text }: Page): string[] {
  const prose = text.replaceAll(fence, "").replaceAll(/`[^`\n]*`/g, "");
  const inline = prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g);
  const defined = prose.matchAll(/^ *\[[^\]]+\]: *<?([^\s>]+)>?/gm);
  return [...inline, ...defined].map((match) => match[1] ?? "").filter((link) => !/^[a-z]+:/i.test(link));
}

/** The anchors that GitHub gives to headings; a second heading of the same text gets `-1`, and so on. */
export function anchorsOf({ text }: Page): string[] {
  const seen = new Map<string, number>();
  return [...text.replaceAll(fence, "").matchAll(/^#{1,6} +(.+?) *#*$/gm)].map((match) => {
    const anchor = (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)/g, "")
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}
