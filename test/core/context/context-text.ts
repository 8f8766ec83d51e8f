/** Small sessions by hand, and contexts as short lines that can be read. */
import type { ContentBlock } from "../../../src/core/schema.ts";
import { rendererNow } from "../../../src/core/context/context.ts";
import type { ContextPart, Settings, UserBlock } from "../../../src/core/context/part.ts";
import type { Planning } from "../../../src/core/context/plan.ts";
import { nextContext, type Context } from "../../../src/runtime/context/context-reader.ts";
import type { Given } from "../given.ts";
import { digest } from "../digest.ts";
import { worldOf } from "./life.ts";

export const settings: Settings = { model: "acme/large", images: true };
const usage = { inputTokens: 1, outputTokens: 1 };
const sha = digest("", "any");

/** The model is asked, with the inputs at these positions. */
export const asks = (session: Given, ...inputs: [number, number][]): Given =>
  session.and(
    "model.requested",
    {
      model: settings.model,
      renderer: rendererNow,
      context: sha,
      parts: 1,
      inputs,
      attempt: 1,
      reserved: {},
    },
    { settings },
  );

export const says = (session: Given, ...blocks: ContentBlock[]): Given =>
  session.and(
    "model.responded",
    { model: settings.model, finish: "stop", usage, costNanoUsd: null },
    { blocks },
  );

export const words = (text: string): ContentBlock => ({ type: "text", text });
export const callOf = (call: string, tool: string): ContentBlock => ({ type: "tool-call", call, tool });

/** Somebody says something, and a turn begins with it. */
export function hears(session: Given, ...blocks: ContentBlock[]): Given {
  const input = session.state.standing.inbox.received + 1;
  const heard = session.and("input.received", { input }, { blocks });
  return heard.and("turn.started", { inputs: [[heard.state.seq, input]] });
}

export const requests = (session: Given, call: string, tool: string, input: unknown = {}): Given =>
  session.and("tool.requested", { call, tool, effect: "unsafe" }, { input });

export const settles = (session: Given, call: string, output: unknown): Given =>
  session.and("tool.settled", { call, status: "ok" }, { output });

/** The session without the contents of some records. */
export const erased = (
  session: Given,
  ...seqs: readonly number[]
): Pick<Given, "records" | "states" | "state"> => ({
  ...session,
  records: session.records.map((one) =>
    seqs.includes(one.seq) ? { ...one, content: null, salt: null } : one,
  ),
});

export const contextOf = (
  session: Pick<Given, "records" | "states" | "state">,
  options: {
    settings?: Settings;
    uncompacted?: boolean;
    inputs?: [number, number][];
    renderer?: number;
    planning?: Planning;
  } = {},
): Promise<Context> =>
  nextContext(
    worldOf({ records: [...session.records], states: [...session.states] }),
    session.records[0]!.session as Parameters<typeof nextContext>[1],
    { state: session.state, settings, inputs: [], ...options },
  );

/** What the model is told, a line a block; without settings and without what every session begins with. */
export async function told(
  session: Pick<Given, "records" | "states" | "state">,
  options: Parameters<typeof contextOf>[1] = {},
): Promise<readonly string[]> {
  const { parts } = await contextOf(session, options);
  return parts.filter((part) => !isOpening(part)).flatMap(lines);
}

const isOpening = (part: ContextPart): boolean =>
  part.part === "settings" ||
  (part.part === "system" && part.text === "Objective of this session:\nFix login");

function lines(part: ContextPart): readonly string[] {
  if (part.part === "system") return [`system: ${part.text}`];
  if (part.part === "tools") return [`tools: ${part.tools.map(({ name }) => name).join(", ")}`];
  if (part.part === "settings") return ["settings"];
  if (part.role === "user") return part.content.map((block) => `user: ${shown(block)}`);
  if (part.role === "tool") {
    return part.content.map(({ call, tool, status, text }) => `${call} ${tool} ${status}: ${text}`);
  }
  return part.content.map((block) => {
    const kept = block.metadata === undefined ? "" : ` ${JSON.stringify(block.metadata)}`;
    if (block.type === "text") return `model: ${block.text}${kept}`;
    if (block.type === "reasoning") return `model thinks: ${block.text}${kept}`;
    return `model calls: ${block.call} ${block.tool} ${JSON.stringify(block.input)}${kept}`;
  });
}

const shown = (block: UserBlock): string =>
  block.type === "text" ? block.text : `<${block.type} ${block.mediaType}>`;
