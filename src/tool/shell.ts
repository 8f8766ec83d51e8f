/**
 * The tool `shell`: command lines in a bound directory, with a timeout, and all their processes killed at the
 * end.
 */
import { stat } from "node:fs/promises";
import * as z from "zod";
import { SkeinError } from "../core/error.ts";
import { realBoundPath, writableRoots } from "./bound-path.ts";
import { makeCapture } from "./capture.ts";
import { watchChanges, type Changes } from "./changes.ts";
import { defineTool } from "./define.ts";
import { hideSecrets, plainEnv, secretsOf } from "./environment.ts";
import type { McpWorld } from "./mcp-stdio.ts";
import { reservedBy, type IsReserved } from "./reserved-names.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { ToolOutput, type StoredBinding, type Child, type OuterTool, type ToolWorld } from "./port.ts";

const shellLimit = {
  timeoutSecondsDefault: 120,
  timeoutSecondsMax: 1_800,
  commandCharsMax: 100_000,
  headBytesMax: 32_768,
  tailBytesMax: 32_768,
  changedMax: 1_000,
} as const;

/**
 * Kills the whole group when the runner dies in any way: then the pipe that is its standard input is closed.
 * So no command continues after its outcome was recorded as unknown.
 */
const lifeline =
  'exec 3<&0 </dev/null; { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; exec /bin/sh -c "$1"';

interface Shell {
  readonly name: string;
  /** The working directory; in a sandbox, its name there. */
  readonly cwd: string;
  readonly sandbox: Sandbox | null;
  readonly isNetworked: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly isReserved: IsReserved;
}

/** Empty without a shell binding. With several, the model names one. `around` is what sandboxes show. */
export async function shellTools(
  world: McpWorld,
  bound: readonly StoredBinding[],
  around: Parameters<typeof openSandbox>[2] = { bound: [], hidden: [] },
): Promise<OuterTool[]> {
  if (bound.length === 0) return [];
  const shells = await Promise.all(bound.map((one) => openShell(world, one, around)));
  const [first] = shells;
  const names = shells.map(({ name }) => name);
  const shellOf = (named: unknown): Shell => {
    const shell = shells.find(({ name }) => name === named) ?? first;
    if (shell === undefined) throw new SkeinError("not-found", "shell not found");
    return shell;
  };
  const where = names.length === 1 ? `in ${first?.cwd}` : "in one of the bound directories";
  return [
    {
      // Data that leaves through the network is not contained.
      contained: shells.every(({ sandbox, isNetworked }) => sandbox !== null && !isNetworked),
      ...defineTool({
        name: "shell",
        description:
          `Run a command line with /bin/sh ${where}. Gives what it printed and its exit code. Standard ` +
          "input is empty, and what is left running in the background is ended with it." +
          shells.map(sandboxNote).join(""),
        input: z.strictObject({
          command: z.string().min(1).max(shellLimit.commandCharsMax).describe("The command line"),
          ...(names.length > 1 && { in: z.enum(names).describe("The binding whose directory it runs in") }),
          timeoutSeconds: z
            .number()
            .positive()
            .max(shellLimit.timeoutSecondsMax)
            .default(shellLimit.timeoutSecondsDefault),
        }),
        // It has its own timeout; this one is for when that fails.
        timeoutMs: (shellLimit.timeoutSecondsMax + 60) * 1_000,
        command: (input) => {
          const { name, cwd } = shellOf(input.in);
          return { text: input.command, directory: cwd, binding: name };
        },
        run: async (input, { signal }) => runCommand(world, shellOf(input.in), { ...input, signal }),
      }),
    },
  ];
}

function sandboxNote({ name, sandbox, isNetworked }: Shell): string {
  if (sandbox === null) return "";
  const network = isNetworked ? "the network" : "no network";
  return ` "${name}" is a sandbox: only bound files and directories, its own /tmp, and ${network}.`;
}

async function openShell(
  world: McpWorld,
  bound: StoredBinding,
  around: Parameters<typeof openSandbox>[2],
): Promise<Shell> {
  const { name, path, options } = bound;
  const isNetworked = bound.network === true;
  const given = typeof options === "object" && options !== null && "cwd" in options ? options.cwd : path;
  if (given !== undefined && typeof given !== "string")
    throw new SkeinError("invalid", `shell "${name}": directory: expected a string`);
  const noDirectory = (cause?: unknown): SkeinError =>
    new SkeinError("unavailable", `shell "${name}": ${given} is not a directory`, {
      hint: "create it, or bind the shell to another directory",
      cause,
    });
  const writable = await writableRoots([...around.bound, bound]);
  const cwd = await realBoundPath({ name, path: given ?? "." }, writable).catch((cause: unknown) => {
    throw cause instanceof SkeinError ? cause : noDirectory(cause);
  });
  if (!(await stat(cwd)).isDirectory()) throw noDirectory();
  const secrets = secretsOf(world, bound);
  const isReserved = await reservedBy(around.hidden);
  if (bound.sandbox !== true) return { name, cwd, secrets, sandbox: null, isNetworked, isReserved };
  const sandbox = await openSandbox(world, given === undefined ? bound : { ...bound, path: cwd }, around);
  return { name, cwd: sandbox.cwd, secrets, sandbox, isNetworked, isReserved };
}

async function runCommand(
  world: McpWorld,
  { cwd, secrets, sandbox, isReserved }: Shell,
  { command, timeoutSeconds, signal }: { command: string; timeoutSeconds: number; signal: AbortSignal },
): Promise<ToolOutput> {
  signal.throwIfAborted();
  const isSeen = sandbox === null || sandbox.isBound;
  const changes = isSeen
    ? await watchChanges(world, cwd, isReserved)
    : async () => ({ changed: [] }) as Changes;
  const child =
    sandbox === null
      ? await world.spawnPiped(["/bin/sh", "-c", lifeline, "sh", command], {
          cwd,
          env: { ...plainEnv(world), ...secrets },
        })
      : await world.spawnPiped(await sandbox.command(command), { env: { ...sandbox.env, ...secrets } });
  const ended = new AbortController();
  const excess = sandbox?.watch(child, ended.signal) ?? Promise.resolve(null);
  const capture = makeCapture(shellLimit.headBytesMax, shellLimit.tailBytesMax);
  const reading = [child.stdout, child.stderr].map((stream) => drain(stream, (bytes) => capture.add(bytes)));
  const { code, killedBy } = await finish(world, child, { ms: timeoutSeconds * 1_000, signal });
  ended.abort();
  const [passed] = await Promise.all([excess, ...reading]);
  const { changed, ...rest } = await changes();
  const outcome =
    passed !== null
      ? `[${passed} and was ended]`
      : killedBy === "time"
        ? `[it took longer than ${timeoutSeconds} s and was ended]`
        : killedBy === "signal"
          ? "[it was interrupted and ended]"
          : code.code === null
            ? `[ended by ${code.signal}]`
            : `[exit code ${code.code}]`;
  const said = hideSecrets(capture.text(), secrets).trimEnd();
  return new ToolOutput(said === "" ? outcome : code.code === 0 ? said : `${said}\n${outcome}`, {
    detail: {
      exit: code.code,
      changed: changed?.slice(0, shellLimit.changedMax) ?? null,
      ...(changed !== null && changed.length > shellLimit.changedMax && { changedCount: changed.length }),
      ...rest,
    },
    isError: killedBy !== null || passed !== null,
  });
}

/** Waits for the end, its own or a kill, and kills the whole group in any case. */
async function finish(
  world: ToolWorld,
  child: Child,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<{ code: Awaited<Child["exited"]>; killedBy: "time" | "signal" | null }> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const late = world.sleep(ms, stop).then(() => "late" as const);
  try {
    const first = await Promise.race([child.exited, late]);
    const killedBy = first !== "late" ? null : signal.aborted ? "signal" : "time";
    child.kill();
    return { code: await child.exited, killedBy };
  } finally {
    over.abort();
    child.kill();
  }
}

async function drain(stream: AsyncIterable<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  try {
    for await (const bytes of stream) take(bytes);
  } catch {
    // A truncated stream has delivered its output.
  }
}
