/** `KIND:PATH[:write]`: a binding in one word. */
import type { Binding } from "../../core/tool/commands.ts";
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { oneOf } from "../command/args.ts";
import { oneLine } from "./text.ts";

const bindingKinds = [
  "file",
  "directory",
  "database",
  "mcp",
  "shell",
  "tool",
] as const satisfies readonly Binding["kind"][];

/**
 * The mode is shown only for what can be written, and the path only where the name is another one: a fork
 * with files binds its copy under the name of the parent's directory.
 */
export function bindingText(bound: {
  readonly name: string;
  readonly kind: string;
  readonly mode: string;
  readonly path?: string | undefined;
}): string {
  const { kind, mode, path = bound.name } = bound;
  const name = oneLine(bound.name);
  const place = path === bound.name ? "" : ` at ${oneLine(path)}`;
  const called = `${name === kind ? kind : `${kind} ${name}`}${place}`;
  return ["file", "directory", "database"].includes(kind) ? `${called} (${mode})` : called;
}

/** Says which bound paths do not exist here: they may be made later, or be those of another machine. */
export function missingPaths(bound: readonly Pick<Binding, "kind" | "path">[]): string[] {
  const ofFiles = ["file", "directory", "database", "shell"];
  return bound.flatMap(({ kind, path }) =>
    path === undefined || !ofFiles.includes(kind) || existsSync(path)
      ? []
      : [`${oneLine(path)} does not exist here; no turn begins until it does`],
  );
}

/** An MCP server is started by a command or reached at a URL, not both. */
export function checkServer({ kind, command, url }: Binding): void {
  if (kind !== "mcp") return;
  const hint = "use --command WORD --command WORD …, or --url https://…";
  if (command !== undefined && url !== undefined)
    throw new SkeinError("invalid", "bind: specify --command or --url, not both", {
      hint,
    });
  if (command !== undefined) return;
  if (url === undefined)
    throw new SkeinError("invalid", "bind: --command or --url is required for an MCP server", { hint });
  if (/^https?:\/\/./i.test(url) && URL.canParse(url)) return;
  throw new SkeinError("invalid", `bind: --url: expected an http:// or https:// URL, got ${quote(url)}`, {
    hint,
  });
}

/**
 * `sandbox`, `sandbox,network`, each optionally with `:PATH` after it. A folder of that name is `./sandbox`.
 */
const sandboxWord = /^sandbox(,network)?(?::(.*))?$/s;

/** `directory:src:write`, `database:postgres://db/hr`, `mcp:https://…`, `shell`, `tool:NAME`. */
export function parseBinding(word: string): Binding {
  const [, named = "", rest = ""] = /^([^:]*)(?::(.*))?$/s.exec(word) ?? [];
  const kind = oneOf("the kind of --bind", named, bindingKinds);
  const sandboxed = kind === "shell" ? sandboxWord.exec(rest) : null;
  const [, network, place = ""] = sandboxed ?? [];
  const [, what = "", mode] = /^(.*?)(?::(read|write))?$/s.exec(sandboxed === null ? rest : place) ?? [];
  const more = {
    ...(mode === undefined ? {} : { mode: mode as "read" | "write" }),
    ...(sandboxed !== null && { sandbox: true }),
    ...(network !== undefined && { network: true }),
  };
  if (what === "" && kind === "shell") return { kind, ...more };
  if (what === "") {
    throw new SkeinError("invalid", `--bind: incomplete: ${quote(word)}`, {
      hint: `for example ${kind}:${kind === "tool" ? "NAME" : kind === "mcp" ? "URL" : "PATH"}`,
    });
  }
  const isUrl = /^[a-z][a-z0-9+.-]+:\/\//i.test(what) && !isAbsolute(what);
  if (kind === "mcp" && !isUrl) {
    throw new SkeinError("invalid", `--bind: expected an http:// or https:// URL, got ${quote(word)}`, {
      hint: "use mcp:https://…; for a server that a command starts: skein bind ID mcp --command …",
    });
  }
  if (kind === "mcp") checkServer({ kind, url: what });
  if (kind === "tool") return { kind, name: what, ...more };
  return isUrl ? { kind, url: what, ...more } : { kind, path: what, ...more };
}
