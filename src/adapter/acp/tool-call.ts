/** How a tool call appears in an editor: title, kind, locations. */
import { isAbsolute, join } from "node:path";

type Fields = Readonly<Record<string, unknown>>;

/** An entry of the content of a tool call. */
export type ToolContent = Fields & { readonly type: "content" | "diff" };

const kinds: Readonly<Record<string, string>> = {
  read_file: "read",
  list_files: "read",
  find_files: "search",
  grep_files: "search",
  recall: "search",
  lookup: "search",
  write_file: "edit",
  edit_file: "edit",
  shell: "execute",
  query_database: "execute",
};

const titleCharsMax = 200;
const outputCharsMax = 100_000;

/** The fields of a `tool_call`, from `tool.requested`. `root` is the first bound directory. */
export function callStart(given: {
  readonly id: string;
  readonly body: Fields;
  readonly content: Fields;
  readonly root: string | undefined;
}): Fields {
  const { id, body, content, root } = given;
  const tool = String(body["tool"]);
  const { input = {} } = content;
  const { path, command } = Object(input) as { readonly path?: unknown; readonly command?: unknown };
  const isFile = typeof path === "string" && path !== "" && (isAbsolute(path) || root !== undefined);
  const location = isFile ? { locations: [{ path: isAbsolute(path) ? path : join(root ?? "/", path) }] } : {};
  const title = typeof command === "string" ? command : `${tool} ${shortInput(input)}`;
  return {
    toolCallId: id,
    name: tool,
    title: cut(title.trim(), titleCharsMax),
    kind: kinds[tool] ?? (body["effect"] === "read" ? "read" : "other"),
    rawInput: input,
    ...location,
  };
}

/** The output of a call as content: a text, or its JSON. */
export function textContent(output: unknown): readonly ToolContent[] {
  const text =
    typeof output === "string" ? output : output === undefined ? "" : JSON.stringify(output, null, 2);
  if (text === "") return [];
  return [{ type: "content", content: { type: "text", text: cut(text, outputCharsMax) } }];
}

function shortInput(input: unknown): string {
  if (typeof input !== "object" || input === null) return typeof input === "string" ? input : "";
  const values = Object.values(input).map((value) =>
    typeof value === "string" ? value : (JSON.stringify(value) ?? ""),
  );
  return values.map((value) => cut(value.replaceAll(/\s+/g, " "), 80)).join(" ");
}

const cut = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`;
