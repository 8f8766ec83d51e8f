/** A part of a context for display: a title, a line, and its blocks when expanded. */
import type { ContextPart } from "../../../core/context/part.ts";
import { plural } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";

export interface ContextPiece {
  readonly title: string | null;
  readonly text: string;
  /** Shown verbatim, in monospace. */
  readonly isCode: boolean;
}

export interface ShownPart {
  readonly title: string;
  readonly line: string;
  readonly pieces: readonly ContextPiece[];
  /** Names of erased contents. */
  readonly gaps: readonly string[];
}

const prose = (text: string, title: string | null = null): ContextPiece => ({ title, text, isCode: false });
const code = (value: unknown, title: string | null = null): ContextPiece => ({
  title,
  text: JSON.stringify(value, null, 2) ?? "",
  isCode: true,
});

type Message = Extract<ContextPart, { readonly part: "message" }>;

function messagePieces({ content }: Message): readonly ContextPiece[] {
  return content.map((block): ContextPiece => {
    switch (block.type) {
      case "text":
        return prose(block.text);
      case "reasoning":
        return prose(block.text, "Reasoning");
      case "tool-call":
        return code(block.input, `Call of ${block.tool}`);
      case "tool-result":
        return { title: `Result of ${block.tool}: ${block.status}`, text: block.text, isCode: true };
      case "image":
        return prose(`${block.mediaType}, ${block.blob}`, "Image");
      case "file":
        return prose(`${block.name ?? "unnamed"}, ${block.mediaType}, ${block.blob}`, "File");
    }
  });
}

const roles = { user: "Input", assistant: "Model", tool: "Tool results" } as const;

function piecesOf(part: ContextPart): { readonly title: string; readonly pieces: readonly ContextPiece[] } {
  switch (part.part) {
    case "settings":
      return { title: "Settings", pieces: [code(part.settings)] };
    case "tools":
      return {
        title: plural(part.tools.length, "tool"),
        pieces: part.tools.map((tool) => code(tool.input, `${tool.name}: ${tool.description}`)),
      };
    case "system":
      return { title: "Instructions", pieces: [prose(part.text)] };
    case "message":
      return { title: roles[part.role], pieces: messagePieces(part) };
  }
}

const gapForm = /\[erased: ([^\][\n]{1,200})\]/g;
/** Placeholders are at the start of an erased content; longer texts are not searched for them. */
const searchedChars = 100_000;

const made = new WeakMap<ContextPart, ShownPart>();

export function shownPart(part: ContextPart): ShownPart {
  const known = made.get(part) ?? show(part);
  made.set(part, known);
  return known;
}

function show(part: ContextPart): ShownPart {
  const { title, pieces } = piecesOf(part);
  const gaps = pieces.flatMap(({ text }) =>
    [...text.slice(0, searchedChars).matchAll(gapForm)].map(([, what = ""]) => what),
  );
  const said = part.part === "tools" ? part.tools.map(({ name }) => name).join(", ") : firstLine(pieces);
  return { title, line: brief(said, 160), pieces, gaps };
}

function firstLine(pieces: readonly ContextPiece[]): string {
  const [first] = pieces;
  if (first === undefined) return "";
  return first.title === null ? first.text.slice(0, 1_000) : `${first.title} ${first.text.slice(0, 1_000)}`;
}
