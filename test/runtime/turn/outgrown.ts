/** Sessions that outgrow a small window. */
import assert from "node:assert/strict";
import { z } from "zod";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import type { EventOf } from "../../../src/core/event.ts";
import type { ContextPart } from "../../../src/core/context/part.ts";
import { estimateTokens, roughTokens } from "../../../src/core/context/token-count.ts";
import { ModelError, type AnswerBlock, type ModelCall } from "../../../src/model/port.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { say, scripted, use, type Line, type Scripted } from "./scripted.ts";

export const windowTokens = 8_000;

export const textsOf = (parts: readonly ContextPart[]): string[] =>
  parts.flatMap((part) =>
    part.part === "message"
      ? part.content.map((block) => ("text" in block ? block.text : JSON.stringify(block)))
      : [],
  );

export const lastText = ({ parts }: ModelCall): string => textsOf(parts).at(-1) ?? "";
export const isPrompt = (call: ModelCall): boolean => lastText(call).startsWith(compactionPromptLine);

/** A model with a small window, which says so when more comes in, and counts its tokens in its own way. */
export function small(line: (call: ModelCall) => Line | Promise<Line>, window = windowTokens): Scripted {
  const answer = async (call: ModelCall): Promise<Line> => {
    const inputTokens = estimateTokens(call.parts);
    if (inputTokens > window) throw new ModelError("overflow", `${inputTokens} tokens are too many`);
    const said = await line(call);
    if (said instanceof ModelError) return said;
    const blocks = typeof said === "string" ? [say(said)] : (said as readonly AnswerBlock[]);
    return { blocks, usage: { inputTokens, outputTokens: roughTokens(JSON.stringify(blocks)) } };
  };
  return scripted([answer], { windowTokens: window });
}

/** A tool whose output fills the window. */
export const report = (chars: number) =>
  defineTool({
    name: "report",
    description: "Gives a long report.",
    input: z.object({ number: z.number() }),
    effect: "read",
    run: async ({ number }) => `Report ${number}: ${`line of report ${number}, `.repeat(chars / 20)}`,
  });

export const bound = { kind: "tool", name: "report" } as const;

export async function ask(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text));
}

export async function compactionsOf(session: Session): Promise<EventOf<"transcript.compacted">[]> {
  const found: EventOf<"transcript.compacted">[] = [];
  for await (const event of session.events({ types: ["transcript.compacted"] })) {
    found.push(event as EventOf<"transcript.compacted">);
  }
  return found;
}

/** Every request of the log is rebuilt to the digest that it recorded. */
export async function assertRebuilt(session: Session): Promise<number> {
  let requests = 0;
  for await (const { seq } of session.events({ types: ["model.requested"] })) {
    const { matches } = await session.context({ atSeq: seq });
    assert.equal(matches, true, `the request at ${seq}`);
    requests += 1;
  }
  return requests;
}

/** Asks for a report and then says that it is done; a prompt is answered with a short summary. */
export const reporter = (call: ModelCall): Line => {
  if (isPrompt(call)) return "Reports were fetched, one after the other.";
  return lastText(call).startsWith("Report ") ? "Done." : [use("report", { number: 1 }, "p1")];
};

/** Every call has its results right after it, in the same order. */
export function assertPaired(parts: readonly ContextPart[]): void {
  for (const [place, part] of parts.entries()) {
    if (part.part !== "message" || part.role !== "assistant") continue;
    const calls = part.content.flatMap((block) => (block.type === "tool-call" ? [block.call] : []));
    const next = parts[place + 1];
    const results = next?.part === "message" && next.role === "tool" ? next.content : [];
    assert.deepEqual(
      results.map(({ call }) => call),
      calls,
    );
  }
}
