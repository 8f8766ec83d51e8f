/** Checks: a command, a URL or a query, run without a model. Results are compared by digest. */
import { resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { SpecOf } from "../../core/trigger/trigger.ts";
import { ReadOnly, ToolOutput, type StoredBinding } from "../../tool/port.ts";
import type { Deps } from "../deps.ts";
import { learnNamed } from "../log/redact.ts";
import { fetchChecked } from "./address.ts";
import { cut } from "./ended-sessions.ts";

export type QuerySpec = SpecOf<"query">;

export interface CheckResult {
  readonly digest: string;
  /** The result, as the session sees it. */
  readonly text: string;
}

/** The subject of a check, in a word or two. */
export const checkName = ({ command, url, binding }: QuerySpec): string =>
  command !== undefined ? `command ${command.join(" ")}` : (url ?? `query on ${binding}`);

/** Throws `invalid` for an invalid check, or more than one. */
export function checkQuery(spec: QuerySpec): QuerySpec {
  const { command, url, sql, binding } = spec;
  const given = [command, url, sql].filter((one) => one !== undefined).length;
  const wrong =
    given === 0
      ? "specify one of command, url or sql"
      : given > 1
        ? "specify only one of command, url and sql"
        : sql !== undefined && binding === undefined
          ? "sql: requires binding, the name of a bound database"
          : url !== undefined && binding !== undefined
            ? "url: does not take a binding"
            : null;
  if (wrong === null) return spec;
  throw new SkeinError("invalid", wrong, {
    hint: 'specify command, such as ["git", "ls-remote"]; url; or binding (a database) and sql',
  });
}

/** Runs the check once. Rejects with a `SkeinError` when it has no result. */
export async function runCheck(
  deps: Deps,
  spec: QuerySpec,
  bound: readonly StoredBinding[],
  signal: AbortSignal,
): Promise<CheckResult> {
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const late = new AbortController();
  void deps.world.sleep(limit.checkMs, ends).then(() => late.abort());
  try {
    const stop = AbortSignal.any([ends, late.signal]);
    const done = checkOnce(deps, spec, bound, stop);
    const [kind, status, output] = await done.catch((error: unknown) => {
      if (!late.signal.aborted || signal.aborted) throw error;
      throw new SkeinError("unavailable", `the check timed out after ${limit.checkMs / 1_000} s`);
    });
    const digest = deps.world.digest("", JSON.stringify([kind, status, output]));
    const first = kind === "query" ? "" : `${kind} ${status}\n`;
    return { digest, text: `${first}${cut(output, shownChars)}`.trimEnd() };
  } finally {
    over.abort();
  }
}

const shownChars = 2_000;
type CheckInput = readonly [kind: "exit code" | "status" | "query", status: number, output: string];

async function checkOnce(
  deps: Deps,
  { command, url, binding, sql = "" }: QuerySpec,
  bound: readonly StoredBinding[],
  signal: AbortSignal,
): Promise<CheckInput> {
  for (const { secrets } of bound) learnNamed(deps.world, secrets);
  if (command !== undefined) {
    const shell = bound.find(({ kind, name }) => kind === "shell" && (binding ?? name) === name);
    if (shell?.sandbox === true) {
      throw new SkeinError(
        "refused",
        `binding: "${shell.name}" is a sandboxed shell, and checks do not run in a sandbox`,
        {
          hint: "bind a shell without a sandbox under another name, and use that name",
        },
      );
    }
    if (shell !== undefined) return runCommand(deps, command, shell, signal);
    throw new SkeinError("invalid", "command: requires a bound shell", {
      hint: binding === undefined ? "bind a shell first" : `no shell is bound as "${binding}"`,
    });
  }
  if (url !== undefined) {
    const { status, body } = await fetchChecked(url, hostsOf(bound), signal);
    return ["status", status, body];
  }
  const database = bound.find(({ kind, name }) => kind === "database" && name === binding);
  if (database !== undefined) return ["query", 0, await runQuery(deps, sql, database, signal)];
  throw new SkeinError("invalid", `binding: no database is bound as "${binding}"`, { hint: "bind it first" });
}

/** Allowed private hosts: bindings name them in `options.hosts`. */
const hostsOf = (bound: readonly StoredBinding[]): ReadonlySet<string> =>
  new Set(
    bound.flatMap(({ options }) => {
      const hosts = (options as { readonly hosts?: unknown } | null | undefined)?.hosts;
      return Array.isArray(hosts) ? hosts.filter((host) => typeof host === "string") : [];
    }),
  );

/** Ends the whole group when this process dies, however it dies, so that no check is left running. */
const lifeline =
  'exec 3<&0 </dev/null; { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; exec "$@"';

async function runCommand(
  { world }: Deps,
  command: readonly string[],
  { path, options, secrets = [], name }: StoredBinding,
  signal: AbortSignal,
): Promise<CheckInput> {
  const own = (options as { readonly cwd?: unknown } | null | undefined)?.cwd;
  const given = typeof own === "string" ? own : (path ?? ".");
  const env: Record<string, string> = { TERM: "dumb" };
  for (const one of ["PATH", "HOME", "LANG"]) env[one] = world.secret(one) ?? fallback[one] ?? "";
  for (const secret of secrets) {
    const value = world.secret(secret);
    if (value === undefined) throw new SkeinError("unavailable", `"${name}": secret ${secret} is not set`);
    env[secret] = value;
  }
  signal.throwIfAborted();
  const child = await world.spawnPiped(["/bin/sh", "-c", lifeline, "sh", ...command], {
    cwd: resolve(given),
    env,
  });
  const stop = (): void => child.kill();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const [output] = await Promise.all([collect(child.stdout, stop), collect(child.stderr, stop)]);
    const { code } = await child.exited;
    if (output === null) throw new SkeinError("refused", `the output exceeds ${limit.checkBytesMax} bytes`);
    if (code === null || signal.aborted)
      throw new SkeinError("unavailable", "the command was killed by a signal");
    // The shell's exit codes for a program that it cannot run.
    if (code === 126 || code === 127) throw new SkeinError("not-found", notRun(command, code));
    return ["exit code", code, output];
  } finally {
    signal.removeEventListener("abort", stop);
    child.kill();
  }
}

/** The shell itself exists: its command does not. */
function notRun([program = "", option, line = ""]: readonly string[], code: number): string {
  if (option !== "-c" || !/^(?:.*\/)?(?:ba|da|z)?sh$/.test(program))
    return `program ${program} does not exist or cannot be run`;
  return `a program of ${quote(line)} does not exist or cannot be run (${program} -c ended with ${code})`;
}

const fallback: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/",
  LANG: "C.UTF-8",
};

/** All of it as text; null when it is too large. */
async function collect(stream: AsyncIterable<Uint8Array>, stop: () => void): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes > limit.checkBytesMax) {
        stop();
        return null;
      }
      chunks.push(Buffer.from(chunk));
    }
  } catch {
    // A stream that is cut off has delivered what it had.
  }
  return Buffer.concat(chunks).toString("utf8");
}

const rowsMax = 1_000;

/** Read-only, whatever the binding allows. */
async function runQuery(
  { tools }: Deps,
  sql: string,
  database: StoredBinding,
  signal: AbortSignal,
): Promise<string> {
  if (tools === undefined) throw new SkeinError("unavailable", "no tools are configured");
  const source = await tools();
  await using toolbox = await source.open([{ ...database, mode: "read" }], { signal });
  const tool = toolbox.tools.find(({ name }) => name === "query_database");
  if (tool === undefined || tool.effect === "session")
    throw new SkeinError("unavailable", "the configured tools have no database access");
  const input = await tool.check({ sql, rows: rowsMax });
  if (!input.ok) throw new SkeinError("invalid", input.message);
  const output = await tool
    .run(input.value, { key: "", session: "", seq: 0, signal })
    .catch((error: unknown) => Promise.reject(onlyReads(error)));
  if (output instanceof ToolOutput && output.isError) throw new SkeinError("unavailable", output.text);
  return output instanceof ToolOutput ? output.text : String(output);
}

/** It would be refused however the database is bound, so binding it again does not help. */
function onlyReads(error: unknown): unknown {
  if (!(error instanceof SkeinError && error.cause instanceof ReadOnly)) return error;
  return new SkeinError("refused", "sql: a check is read-only; the database is unchanged", {
    hint: "use a SELECT, such as SELECT count(*) FROM orders",
    cause: error,
  });
}
