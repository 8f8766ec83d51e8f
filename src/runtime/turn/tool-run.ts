/** Runs one call of a tool: under its timeout, until it ends or its result is unwanted. */
import { OutcomeUnknown, type OuterTool } from "../../tool/port.ts";
import type { Store } from "../../store/port.ts";
import { toolErrorText, shapeOutput, type ShapedOutput } from "./tool-output.ts";
import type { World } from "../world.ts";

export type ToolRunOutcome =
  | ShapedOutput
  /** It was stopped and did not return: its effect is unknown. */
  | { readonly status: "unknown"; readonly output: string };

/** How long a stopped tool may take to report what it did. */
const graceMs = 2_000;

interface ToolRunDeps {
  readonly store: Store;
  readonly world: World;
}

/**
 * Resolves to null when the signal was aborted from outside, by an interrupt or a lost lease: then the result
 * is unwanted.
 */
export async function runTool(
  place: ToolRunDeps,
  tool: OuterTool,
  input: unknown,
  call: {
    readonly key: string;
    readonly session: string;
    readonly seq: number;
    readonly signal: AbortSignal;
  },
): Promise<ToolRunOutcome | null> {
  const { world } = place;
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  const done = new AbortController();
  const running = attempt(tool, input, { ...call, signal });
  const timedOut = world.sleep(tool.timeoutMs, done.signal).then(() => "time" as const);
  const stopped = aborted(call.signal, done.signal).then(() => "stop" as const);
  try {
    const first = await Promise.race([running, timedOut, stopped]);
    if (first === "stop") return null;
    if (first !== "time") return await shape(place, tool, first, call.seq);
    over.abort(new Error(`timed out after ${tool.timeoutMs} ms`));
    const late = await Promise.race([running, world.sleep(graceMs, done.signal).then(() => null)]);
    const said = `it took longer than ${tool.timeoutMs} ms and was stopped`;
    if (late !== null) return { status: "error", output: "error" in late ? said : `${said}, too late` };
    return tool.effect === "unsafe"
      ? { status: "unknown", output: `${said}; whether it took effect is not known` }
      : { status: "error", output: said };
  } finally {
    done.abort();
  }
}

type Attempt = { readonly value: unknown } | { readonly error: unknown };

async function attempt(
  tool: OuterTool,
  input: unknown,
  call: Parameters<OuterTool["run"]>[1],
): Promise<Attempt> {
  try {
    return { value: await tool.run(input, call) };
  } catch (error) {
    return { error };
  }
}

async function shape(
  place: ToolRunDeps,
  tool: OuterTool,
  ended: Attempt,
  seq: number,
): Promise<ToolRunOutcome> {
  if ("error" in ended && ended.error instanceof OutcomeUnknown && tool.effect === "unsafe") {
    return { status: "unknown", output: toolErrorText(ended.error) };
  }
  if ("error" in ended) return { status: "error", output: toolErrorText(ended.error) };
  return shapeOutput(place, ended.value, seq);
}

/** Resolves when the signal is aborted; never when `done` comes first. */
function aborted(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: done });
  });
}
