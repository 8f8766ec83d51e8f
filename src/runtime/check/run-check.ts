/** Runs one accept check, and says what came of it. Nothing here writes to the session's log. */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { CheckKind, CheckStatus, NamedCheck } from "../../core/check/check.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { State } from "../../core/state.ts";
import { ToolOutput, type OuterTool, type StoredBinding } from "../../tool/port.ts";
import type { Deps } from "../deps.ts";
import { learnNamed } from "../log/redact.ts";
import { readBindings } from "../read/bindings.ts";
import { atCommit, isTracked } from "./committed-tree.ts";

/** What came of a check. */
export interface CheckOutcome {
  readonly status: CheckStatus;
  readonly exitCode?: number;
  readonly score?: number;
  readonly by?: string;
  readonly output?: string;
  readonly reason?: string;
}

/** A check, and the state it is run on. */
export interface CheckRun<K extends CheckKind = CheckKind> {
  readonly session: SessionId;
  readonly state: State;
  readonly check: Extract<NamedCheck, { readonly kind: K }>;
  readonly commit: string | undefined;
  readonly signal: AbortSignal;
}

export async function runCheck(deps: Deps, run: CheckRun): Promise<CheckOutcome> {
  const { check } = run;
  if (check.kind === "command") return runCommand(deps, { ...run, check });
  if (check.kind === "file") return findFile(deps, { ...run, check });
  if (check.kind === "review") return (await import("./review.ts")).review(deps, { ...run, check });
  return { status: "error", reason: "a person decides it" };
}

async function runCommand(deps: Deps, run: CheckRun<"command">): Promise<CheckOutcome> {
  const { session, state, check, commit, signal } = run;
  const { timeoutMs = limit.acceptMsDefault } = check;
  const bound = await readBindings(deps, session, state);
  const shell = shellOf(bound, check.in);
  for (const { secrets } of bound) learnNamed(deps.world, secrets);
  const source = await deps.tools?.();
  if (source === undefined)
    throw new SkeinError("refused", "check: this engine runs no commands", { hint: "run it on a worker" });
  const files = bound.filter(({ kind }) => kind === "file" || kind === "directory");
  await using toolbox = await source.open([...files, shell], { signal, session });
  const tool = toolbox.tools.find(
    (one): one is OuterTool => one.name === "shell" && one.effect !== "session",
  );
  if (tool === undefined) throw new SkeinError("refused", "check: no shell is available");
  const call = { key: `check ${check.name}`, session, seq: state.seq, signal };
  const input = { command: check.command, timeoutSeconds: timeoutMs / 1_000 };
  const ran = async (): Promise<CheckOutcome> => commandOutcome(await tool.run(input, call));
  if (commit === undefined || shell.path === undefined) return await ran();
  return await atCommit(deps.world, { directory: shell.path, commit }, ran);
}

function commandOutcome(ended: unknown): CheckOutcome {
  if (!(ended instanceof ToolOutput)) return { status: "error", reason: "the shell returned nothing" };
  const { exit = null } = (ended.detail ?? {}) as { readonly exit?: number | null };
  const output = shownOutput(ended.text);
  // It ran too long, or used too much: that is an answer about the work, too.
  if (ended.isError || exit === null)
    return { status: "failed", output, reason: /\[([^[\]]*)\]$/.exec(output)?.[1] ?? "it was ended" };
  if (exit === 0) return { status: "passed", exitCode: exit, output };
  return { status: "failed", exitCode: exit, output, reason: `exit code ${exit}` };
}

/** Without escape sequences and control characters; the beginning and the end of a long text. */
export function shownOutput(text: string): string {
  const plain = stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]/gu, "");
  const most = limit.acceptOutputCharsMax;
  if (plain.length <= most) return plain;
  const head = plain.slice(0, most / 4);
  const tail = plain.slice(-(most / 2));
  return `${head}\n[… ${plain.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/**
 * The shell that a command runs in: the bound one that `in` names, or else the first. A person who bound a
 * shell without a sandbox has decided that. Without a shell it is a sandbox in the bound directory.
 */
function shellOf(bound: readonly StoredBinding[], name: string | undefined): StoredBinding {
  const of = (kind: StoredBinding["kind"]) =>
    bound.find((one) => one.kind === kind && (name === undefined || one.name === name));
  const shell = of("shell");
  if (shell !== undefined) return shell;
  const directory = of("directory");
  if (directory === undefined)
    throw new SkeinError(
      "refused",
      name === undefined
        ? "check: no directory and no shell is bound"
        : `check: no directory and no shell is bound as ${quote(name)}`,
      { hint: "skein bind ID directory --path . --mode write" },
    );
  return { ...directory, kind: "shell", name: "accept", sandbox: true };
}

async function findFile(
  deps: Deps,
  { session, state, check, commit }: CheckRun<"file">,
): Promise<CheckOutcome> {
  const { path, contains, in: name } = check;
  const bound = await readBindings(deps, session, state);
  const root = bound.find((one) => one.kind === "directory" && (name ?? one.name) === one.name);
  if (root?.path === undefined)
    throw new SkeinError("refused", "check: no directory is bound", {
      hint: "skein bind ID directory --path .",
    });
  const directory = await realpath(root.path).catch(() => null);
  if (directory === null) return { status: "error", reason: `${root.path} does not exist` };
  const real = await realpath(resolve(directory, path)).catch(() => null);
  if (real === null) return { status: "failed", reason: `${path} does not exist` };
  const inside = relative(directory, real);
  if (isAbsolute(inside) || inside.split(sep)[0] === "..")
    return { status: "failed", reason: `${path} is outside the bound directory` };
  if (commit !== undefined && !(await isTracked(deps.world, directory, inside)))
    return { status: "failed", reason: `${path} is not committed` };
  const reason = await missingIn(real, path, contains);
  return reason === null ? { status: "passed" } : { status: "failed", ...present({ reason }) };
}

/** Why a file does not do; null if it does. Opening never waits, as for a pipe. */
async function missingIn(real: string, path: string, contains: string | undefined): Promise<string | null> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using handle = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (handle === null) return `${path} cannot be read`;
  const found = await handle.stat();
  if (contains === undefined) return null;
  if (!found.isFile()) return `${path} is not a file`;
  if (found.size > limit.documentBytesMax) return `${path} is longer than ${limit.documentBytesMax} bytes`;
  const text = (await handle.readFile()).toString("utf8");
  return text.includes(contains) ? null : `${path} does not contain ${quote(contains)}`;
}
