/**
 * Tools that answer from a recording: a call that the original also made gets its recorded result, and
 * nothing outside is touched. An unrecorded call is an error, or, where allowed, runs if it only reads. Calls
 * on the session's own log run in the fork.
 */
import type { ContentBlock } from "../../core/schema.ts";
import type { ToolDefinition } from "../../core/context/part.ts";
import { callKey } from "../../core/turn/run-comparison.ts";
import type { OuterTool, SessionTool, Tool, ToolCall, ToolSource } from "../../tool/port.ts";
import { ToolOutput } from "../../tool/port.ts";
import { isWholeOutput, readBlob, readContent } from "../read/content.ts";
import type { TakenCall } from "./replay-turn.ts";
import type { Deps } from "../deps.ts";
import type { SessionId } from "../../core/ids.ts";

export interface RecordedTools {
  /**
   * The recorded result for this call; null when the original made no such call. The same for the same
   * position.
   */
  find(call: { readonly seq: number; readonly tool: string; readonly input: unknown }): TakenCall | null;
  /** The effect of a tool, as the original knew it. */
  effectOf(tool: string): OuterTool["effect"];
  /** Calls that were not found. */
  readonly unrecorded: ReadonlySet<number>;
}

/** Calls with the same tool and arguments are matched in order. A read may be matched twice. */
export function makeRecording(calls: readonly TakenCall[]): RecordedTools {
  const waiting = Map.groupBy(calls, callKey);
  const given = new Map<number, TakenCall | null>();
  const effects = new Map(calls.map(({ tool, effect }) => [tool, effect]));
  const unrecorded = new Set<number>();
  return {
    unrecorded,
    find(call) {
      const before = given.get(call.seq);
      if (before !== undefined) return before;
      const left = waiting.get(callKey(call)) ?? [];
      const next = left[0] ?? null;
      if (left.length > 1 || next?.effect !== "read") left.shift();
      given.set(call.seq, next);
      if (next === null) unrecorded.add(call.seq);
      return next;
    },
    effectOf(tool) {
      const effect = effects.get(tool) ?? "unsafe";
      return effect === "session" ? "read" : effect;
    },
  };
}

/** Tools that change or read only the session's own log. */
const ownActs: readonly string[] = ["record", "retract", "scratch", "recall"];

export interface ReplayTools {
  readonly deps: Deps;
  /** The session whose results are used. */
  readonly original: SessionId;
  readonly recording: RecordedTools;
  /** The tools offered to the model there. */
  readonly definitions: () => readonly ToolDefinition[];
  readonly live: boolean;
}

/** Offers exactly what the original offered, whatever is available now. */
export function recordedSource(replay: ReplayTools): ToolSource {
  const { deps, live } = replay;
  return {
    async open(bound, options) {
      const source = await deps.tools?.();
      // Without bindings nothing is opened: no server starts, no file is read.
      const real = await source?.open(live ? bound : [], options);
      const there = new Map((real?.tools ?? []).map((tool) => [tool.name, tool]));
      const tools = replay.definitions().map((one): Tool => {
        const tool = there.get(one.name);
        if (tool?.effect === "session" && ownActs.includes(one.name)) return ownTool(tool, one);
        return recordedTool(replay, one, tool?.effect === "session" ? undefined : tool);
      });
      return { tools, [Symbol.asyncDispose]: async () => real?.[Symbol.asyncDispose]() };
    },
  };
}

const ownTool = (tool: SessionTool, { description, input }: ToolDefinition): SessionTool => ({
  name: tool.name,
  description,
  input,
  effect: "session",
  check: (given) => tool.check(given),
  act: (given) => tool.act(given),
});

function recordedTool(replay: ReplayTools, one: ToolDefinition, real: OuterTool | undefined): OuterTool {
  const { name, description, input } = one;
  return {
    name,
    description,
    input,
    effect: real?.effect ?? replay.recording.effectOf(name),
    timeoutMs: real?.timeoutMs ?? 60_000,
    // Invalid arguments got an error there, which is recorded too.
    check: async (given) => ({ ok: true, value: given }),
    run: (given, call) => answer(replay, { name, real }, given, call),
  };
}

async function answer(
  replay: ReplayTools,
  { name, real }: { readonly name: string; readonly real: OuterTool | undefined },
  input: unknown,
  call: ToolCall,
): Promise<unknown> {
  const found = replay.recording.find({ seq: call.seq, tool: name, input });
  if (found !== null) return recordedOutput(replay, found);
  if (replay.live && real?.effect === "read") {
    const checked = await real.check(input);
    return checked.ok ? real.run(checked.value, call) : failure(checked.message);
  }
  return failure(notRecorded);
}

export const notRecorded = "not recorded in the original; in a replay it is not run";

const failure = (text: string): ToolOutput => new ToolOutput(text, { isError: true });

async function recordedOutput({ deps, original }: ReplayTools, call: TakenCall): Promise<unknown> {
  const { status, settledSeq } = call;
  if (settledSeq === null) return failure("it had no outcome in the original");
  const content = (await readContent(deps.store, original, settledSeq)) as
    | { readonly output?: unknown; readonly blocks?: readonly ContentBlock[]; readonly detail?: unknown }
    | undefined;
  if (status === "skipped") return failure("it was skipped in the original");
  if (status === "unknown") return failure("its outcome was never known in the original");
  if (content === undefined) return failure("what it gave back in the original was erased");
  const { output, blocks = [], detail } = content;
  const text = await wholeText(deps, output, blocks);
  if (status === "ok" && blocks.every(({ type }) => type !== "image") && detail === undefined) return text;
  const images: { readonly bytes: Uint8Array; readonly mediaType: string }[] = [];
  for (const block of blocks) {
    if (block.type !== "image") continue;
    images.push({ bytes: await readBlob(deps.store, block.blob), mediaType: block.mediaType });
  }
  const shown = typeof text === "string" ? text : JSON.stringify(text);
  return new ToolOutput(shown, { images, detail, isError: status === "error" });
}

/** A long output is stored whole beside its shown part. */
async function wholeText(deps: Deps, output: unknown, blocks: readonly ContentBlock[]): Promise<unknown> {
  const whole = blocks.find(isWholeOutput);
  if (whole?.type !== "file") return output ?? null;
  return (await readBlob(deps.store, whole.blob)).toString("utf8");
}
