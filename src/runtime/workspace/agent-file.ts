/**
 * Agent files: Markdown with YAML front matter, whose body is the instructions; or JSON.
 *
 *     ---
 *     name: reviewer
 *     model: anthropic/claude-sonnet-5-5
 *     tools: [read_file, grep_files, record_*]
 *     ---
 *     You review changes…
 */
import { basename } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { checkAgent, type AgentDefinition } from "../../core/workspace/agent.ts";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";

/** Options of `parseAgent`. */
export interface AgentFileOptions {
  /** For a file that does not name its agent; defaults to the file name without its extension. */
  readonly name?: string;
  /** For messages. */
  readonly path?: string;
}

/** The definition in a file's text. Throws `invalid` with the line and the right spelling. */
export function parseAgent(text: string, { name, path }: AgentFileOptions = {}): AgentDefinition {
  const where = path ?? "the agent file";
  const plain = text.replace(/^\uFEFF/, "");
  const fallback = name ?? (path === undefined ? undefined : basename(path).replace(/\.[^.]*$/, ""));
  const { given, lineOf } = /^\s*\{/.test(plain) ? fromJson(plain, where) : fromMarkdown(plain, where);
  const named = fallback === undefined ? given : { name: fallback, ...given };
  return checkAgent(named, { where, lineOf });
}

export interface ParsedAgentFile {
  readonly given: Readonly<Record<string, unknown>>;
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
}

function fromJson(text: string, where: string): ParsedAgentFile {
  try {
    JSON.parse(text);
  } catch (cause) {
    const said = errorText(cause);
    throw new SkeinError("invalid", `${where}: invalid JSON: ${said.replace(/\s+/g, " ").slice(0, 200)}`, {
      hint: "an agent file is JSON, or Markdown with YAML front matter",
    });
  }
  // JSON is YAML; this way the lines of the fields are known.
  return fromYaml(text, where, 1);
}

function fromMarkdown(text: string, where: string): ParsedAgentFile {
  const [opening, ...lines] = text.split(/\r?\n/);
  if (opening?.trimEnd() !== "---") return { given: { instructions: text.trim() }, lineOf: () => undefined };
  const end = lines.findIndex((line) => line.trimEnd() === "---");
  if (end === -1) {
    throw new SkeinError("invalid", `${where}, line 1: unterminated front matter`, {
      hint: "add a line with --- after the last field",
    });
  }
  const found = fromYaml(lines.slice(0, end).join("\n"), where, 2);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  if (body === "") return found;
  if (found.given["instructions"] !== undefined) {
    throw new SkeinError("invalid", `${where}: instructions: given both in the front matter and below it`, {
      hint: "remove one of them",
    });
  }
  return { ...found, given: { ...found.given, instructions: body } };
}

export function fromYaml(text: string, where: string, firstLine: number): ParsedAgentFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (position: number): number => lines.linePos(position).line + firstLine - 1;
  const [error] = document.errors;
  if (error !== undefined) {
    const said = error.message.replace(/\s+/g, " ");
    throw new SkeinError("invalid", `${where}, line ${lineAt(error.pos[0])}: ${said}`, {
      hint: "write one field per line, as `name: value`",
    });
  }
  const given: unknown = plainValue(document, where);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SkeinError("invalid", `${where}, line ${firstLine}: no fields`, {
      hint: "write one field per line, as `name: value`",
    });
  }
  const lineOf = (path: readonly PropertyKey[]): number | undefined => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
      const [position] = node?.range ?? [];
      if (position !== undefined) return lineAt(position);
    }
    return undefined;
  };
  return { given: given as Readonly<Record<string, unknown>>, lineOf };
}

function plainValue(document: ReturnType<typeof parseDocument>, where: string): unknown {
  try {
    return document.contents === null ? {} : document.toJS();
  } catch (cause) {
    // Aliases without an anchor, and so many of them that they would fill the memory.
    const said = errorText(cause);
    throw new SkeinError("invalid", `${where}: ${said}`, { hint: "write the values out" });
  }
}
