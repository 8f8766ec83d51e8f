/** What an executor is sent: the inputs of the turn; before it knows the session, the session's context. */
import type { ContextPart } from "../../core/context/part.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { State } from "../../core/state.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { ExecutorSession } from "../../core/turn/executor.ts";
import type { Deps } from "../deps.ts";
import { readBindings } from "../read/bindings.ts";
import { contentOf, readContent } from "../read/content.ts";
import { readRecords } from "../read/record-pages.ts";

/** Holds the id of the executor's session. Its content names this session: a fork is another one. */
export const executorSessionType = "x.executor.session";

const contextCharsMax = 200_000;

/** The executor's session that belongs to this one, if there is one. */
export async function executorSessionIn(
  { store }: Deps,
  session: SessionId,
): Promise<{ readonly id: string; readonly seq: number } | null> {
  const range = { fromSeq: 1, toSeq: Infinity, reverse: true, limit: 1, contents: true };
  const [record] = await store.read(session, { ...range, types: [executorSessionType] });
  if (record === undefined) return null;
  const content = (await contentOf(store, record)) as { session?: unknown; id?: unknown } | undefined;
  if (content?.session !== session || typeof content.id !== "string") return null;
  return { id: content.id, seq: record.seq };
}

/** The cost that the log has of the executor's session so far. */
export async function costBefore({ store }: Deps, session: SessionId, fromSeq: number): Promise<number> {
  let nanoUsd = 0;
  const types = ["model.responded", "model.failed"];
  for await (const { body } of readRecords(store, session, [fromSeq, Infinity], { types }))
    nanoUsd += (JSON.parse(body) as { costNanoUsd?: number | null }).costNanoUsd ?? 0;
  return nanoUsd;
}

/** The first bound directory: the executor works there. */
export async function workDirectory(deps: Deps, session: SessionId, state: State): Promise<string> {
  const bound = await readBindings(deps, session, state);
  const path = bound.find(({ kind }) => kind === "directory")?.path;
  if (path !== undefined) return path;
  throw new SkeinError("unavailable", "executor: expected a bound directory, got none", {
    hint: "skein bind ID directory PATH --mode write",
  });
}

export async function executorPrompt(
  deps: Deps,
  session: SessionId,
  state: State,
  given: {
    readonly agent: ExecutorSession;
    readonly rendered: { readonly parts: readonly ContextPart[] };
    readonly inputs: ConsumedInputs;
  },
): Promise<string> {
  const { agent, rendered, inputs } = given;
  const wasSent = await isPrompted(deps, session, state);
  const note = wasSent ? cutOff : "";
  if (!agent.isResumed) return [contextText(rendered.parts), note].filter((part) => part !== "").join("\n\n");
  const turn = wasSent ? [] : await turnInputs(deps, session, state);
  const texts: string[] = [];
  for (const seq of [...turn, ...inputs.map(([one]) => one)]) texts.push(await inputText(deps, session, seq));
  return [note, ...texts].filter((part) => part !== "").join("\n\n");
}

const cutOff =
  "[The connection to you was lost in the middle of this task. The outcome of what you were doing is not " +
  "known: look at the current state first, then continue.]";

/** True when the inputs of this turn were sent before. */
async function isPrompted({ store }: Deps, session: SessionId, { standing }: State): Promise<boolean> {
  const fromSeq = standing.turn?.startedSeq ?? 1;
  const options = { types: ["model.requested"], contents: true };
  for await (const record of readRecords(store, session, [fromSeq, Infinity], options)) {
    const content = (await contentOf(store, record)) as { prompt?: unknown } | undefined;
    if (content?.prompt !== undefined) return true;
  }
  return false;
}

async function turnInputs({ store }: Deps, session: SessionId, { standing }: State): Promise<number[]> {
  const seq = standing.turn?.startedSeq;
  if (seq === undefined) return [];
  for await (const { body } of readRecords(store, session, [seq, seq], { types: ["turn.started"] }))
    return (JSON.parse(body) as { inputs: [number, number][] }).inputs.map(([input]) => input);
  return [];
}

async function inputText({ store }: Deps, session: SessionId, seq: number): Promise<string> {
  const content = (await readContent(store, session, seq)) as
    | { blocks?: readonly ContentBlock[] }
    | undefined;
  return (content?.blocks ?? [])
    .map((block) => (block.type === "text" ? block.text : `[${block.type}]`))
    .join("\n");
}

const speakers = { user: "User", assistant: "Assistant", tool: "Tools" } as const;

/** The context as a text: the end of it, if it is long. */
function contextText(parts: readonly ContextPart[]): string {
  const texts = parts.flatMap((part): string[] => {
    if (part.part === "system") return [part.text];
    if (part.part !== "message") return [];
    const said = part.content.map((block) => ("text" in block ? block.text : JSON.stringify(block)));
    return [`${speakers[part.role]}:\n${said.join("\n")}`];
  });
  const whole = texts.join("\n\n");
  return whole.length <= contextCharsMax ? whole : `[…]${whole.slice(-contextCharsMax)}`;
}
