/**
 * Tools that answer from a recording: a call that the original made too gets the result it got there, and
 * nothing outside is touched. What was not recorded is an error, or, where it is allowed, runs if it only
 * reads. What changes nothing but the session's own log is done there.
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

export interface Recording {
  /** What the original got for this call; null when it made no such call. The same for the same position. */
  find(call: { readonly seq: number; readonly tool: string; readonly input: unknown }): TakenCall | null;
  /** What a tool does when it is cut off, as the original knew it. */
  effectOf(tool: string): OuterTool["effect"];
  /** Calls that were not found. */
  readonly unrecorded: ReadonlySet<number>;
}

/** Calls with the same tool and arguments are given out in order. What only reads may be read once more. */
export function makeRecording(calls: readonly TakenCall[]): Recording {
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

/** What changes or reads the session's own log, and nothing else. */
const ownActs: readonly string[] = ["record", "retract", "scratch", "recall"];

export interface ReplayTools {
  readonly deps: Deps;
  /** Whose results are given. */
  readonly original: SessionId;
  readonly recording: Recording;
  /** What the model was offered there. */
  readonly definitions: () => readonly ToolDefinition[];
  readonly live: boolean;
}

/** Offers exactly what the original offered, whatever can be had now. */
export function recordedSource(replay: ReplayTools): ToolSource {
  const { deps, live } = replay;
  return {
    async open(bound, options) {
      const source = await deps.tools?.();
      // Without bindings nothing is opened: no server is started, no file is looked at.
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
    // Arguments that did not fit got an error there, which is recorded too.
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
  const told = typeof text === "string" ? text : JSON.stringify(text);
  return new ToolOutput(told, { images, detail, isError: status === "error" });
}

/** A long output is kept whole beside what was shown of it. */
async function wholeText(deps: Deps, output: unknown, blocks: readonly ContentBlock[]): Promise<unknown> {
  const whole = blocks.find(isWholeOutput);
  if (whole?.type !== "file") return output ?? null;
  return (await readBlob(deps.store, whole.blob)).toString("utf8");
}
