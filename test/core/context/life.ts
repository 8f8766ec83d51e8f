/**
 * Generated lives of a session that is run: turns with interrupts, crashes, denials, odd answers, repeated
 * call ids, compactions, rewinds, forks, model switches and erased contents. Every request is rendered when
 * it is made, and its digest recorded, as the turn loop does.
 */
import fc from "fast-check";
import { contextDigest } from "../../../src/core/context/context.ts";
import { nextContext } from "../../../src/runtime/context/context-reader.ts";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { decide } from "../../../src/core/decide.ts";
import type { DraftEvent } from "../../../src/core/decision.ts";
import { makeSessionId, type SessionId } from "../../../src/core/ids.ts";
import type { ContextPart, Settings } from "../../../src/core/context/part.ts";
import { includes } from "../../../src/core/range.ts";
import { emptyState, parseSnapshot, snapshotText, type State } from "../../../src/core/state.ts";
import type { ReadRange, Store } from "../../../src/store/port.ts";
import { digest } from "../digest.ts";
import { facts, foldOne, seal, workspaceId } from "../given.ts";
import { samples } from "../samples.ts";
import { answerOf, definitionsOf, inputOf, outputOf } from "./sayings.ts";
import assert from "node:assert/strict";
import { makeEventCache, type ContextWorld, type EventCache } from "../../../src/runtime/read/event-cache.ts";

export interface Request {
  readonly seq: number;
  readonly parts: readonly ContextPart[];
  readonly settings: Settings;
}

export interface Life {
  session: SessionId;
  records: StoredRecord[];
  /** By position; 0 is the empty state. */
  states: State[];
  settings: Settings;
  /** Steps that were asked for, also those that were rewound away since. */
  requests: Request[];
  readonly cache: EventCache;
  /** Requests after which the rendered context was kept. */
  kept: number;
}

const moveWeights = {
  input: 3,
  message: 1,
  begin: 4,
  request: 6,
  respond: 6,
  fail: 1,
  settle: 6,
  deny: 1,
  stray: 1,
  end: 1,
  interrupt: 1,
  item: 2,
  pin: 1,
  load: 1,
  tools: 1,
  merge: 1,
  migrate: 1,
  amend: 1,
  compact: 1,
  summaryAsked: 1,
  rewind: 1,
  fork: 1,
  erase: 1,
} as const;
type MoveKind = keyof typeof moveWeights;

export interface Move {
  readonly kind: MoveKind;
  readonly pick: number;
  readonly also: number;
  readonly flag: boolean;
}

export const models = [
  "anthropic/claude-sonnet-4-5",
  "openai/gpt-5",
  "google/gemini-3-pro-preview",
  "ollama/llama3",
] as const;

/** Of models, and one so small that little fits. */
const windows = [600, 8_000, 200_000, 1_000_000] as const;

/** Lives of this many moves; some kinds of moves can be left out. */
export const moves = (lengthMax: number, without: readonly MoveKind[] = []): fc.Arbitrary<Move[]> =>
  fc.array(
    fc.record({
      kind: fc.oneof(
        ...Object.entries(moveWeights)
          .filter(([kind]) => !without.includes(kind as MoveKind))
          .map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as MoveKind) })),
      ),
      pick: fc.noBias(fc.nat(10_000)),
      also: fc.noBias(fc.nat(10_000)),
      flag: fc.boolean(),
    }),
    { minLength: lengthMax >> 2, maxLength: lengthMax, size: "max" },
  );

/** Leads the life that the moves describe. A move that makes no sense where it stands is left out. */
export async function live(given: readonly Move[]): Promise<Life> {
  const life: Life = {
    session: idOf(0),
    records: [],
    states: [emptyState],
    settings: { model: pickOf(models, given.length), images: true },
    requests: [],
    cache: makeEventCache(),
    kept: 0,
  };
  const { body, content } = samples["session.opened"];
  append(life, { type: "session.opened", body: { ...body, workspace: workspaceId }, content });
  append(life, { type: "agent.pinned", ...samples["agent.pinned"] });
  for (const move of given) await steps[move.kind](life, move);
  return life;
}

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: 1_700_000_000_000 + count, random: new Uint8Array(10) });
export const now = (life: Life): State => life.states.at(-1)!;
const pickOf = <T>(from: readonly T[], pick: number): T => from[pick % from.length]!;

export function append(life: Life, ...drafts: readonly DraftEvent[]): number {
  for (const draft of drafts) {
    const record = seal(life.session, draft, life.records.at(-1));
    life.states.push(foldOne(life.states, record));
    life.records.push(record);
  }
  return life.records.length;
}

type Step = (life: Life, move: Move) => void | Promise<void>;

const steps: Readonly<Record<MoveKind, Step>> = {
  input(life, { pick, also, flag }) {
    const input = now(life).standing.inbox.received + 1;
    const from = pickOf(["user", "trigger", "system"] as const, also);
    const body = { input, from, ...(flag ? { mode: "steer" as const } : {}) };
    append(life, { type: "input.received", body, content: { blocks: inputOf(pick) } });
  },
  message(life, { pick }) {
    const body = { ...samples["message.received"].body, input: now(life).standing.inbox.received + 1 };
    append(life, { type: "message.received", body, content: { blocks: inputOf(pick) } });
  },
  begin(life, { also }) {
    if (now(life).standing.turn !== null) return;
    append(life, { type: "turn.started", body: { inputs: waiting(life, also) } });
  },
  request,
  respond(life, { pick, also, flag }) {
    const { reserved, turn } = now(life).standing;
    if (turn === null || (reserved === null && also % 8 !== 0)) return;
    const open = now(life).mind.calls;
    const model = flag ? life.settings.model : pickOf(models, also);
    const serial = life.records.length;
    const { blocks, calls } = answerOf(pick, { model, serial, isOpen: (id) => open.has(id) });
    const body = { ...samples["model.responded"].body, model };
    append(life, { type: "model.responded", body, content: { blocks } });
    // A crash in the middle of an append cannot happen; an outside harness may still write less.
    const asked = also % 10 === 0 ? calls.slice(1) : calls;
    for (const { call, tool, input } of asked) {
      const requested = { call, tool, effect: "unsafe" as const };
      append(life, { type: "tool.requested", body: requested, content: { input } });
    }
  },
  fail(life, { pick, flag }) {
    const { reserved } = now(life).standing;
    if (reserved === null) return;
    const { body } = samples["model.failed"];
    const partial = pickOf(["Half of", "", " \n"], pick);
    const said = flag && partial !== "" ? { partialChars: partial.length } : {};
    const content = flag ? { content: { message: "cut off", partial } } : {};
    append(life, { type: "model.failed", body: { ...body, ...said }, cause: reserved.seq, ...content });
  },
  settle(life, { pick, also, flag }) {
    const calls = [...now(life).mind.calls.keys()];
    for (const call of flag ? calls : calls.slice(0, 1)) settleOne(life, call, pick, also);
  },
  deny(life, { also, flag }) {
    const [call] = now(life).mind.calls.keys();
    if (call === undefined) return;
    append(life, { type: "tool.denied", body: { call }, content: { reason: "not on a Friday" } });
    const content = flag ? undefined : { output: "denied" };
    const body = { call, status: "skipped" as const };
    append(life, { type: "tool.settled", body, ...(content === undefined ? {} : { content }) });
    if (also % 3 === 0) settleOne(life, call, also, also);
  },
  stray(life, { pick, also, flag }) {
    const call = pickOf(["call_1", "toolu_01AbC", "never-asked"], pick);
    const content = { output: outputOf(also).output };
    append(life, { type: "tool.settled", body: { call, status: "ok", late: flag }, content });
  },
  end(life) {
    if (now(life).standing.turn !== null) append(life, { type: "turn.ended", ...samples["turn.ended"] });
  },
  interrupt(life) {
    obey(life, { do: "interrupt", idle: true });
  },
  item(life, { pick, also, flag }) {
    const kind = pickOf(["fact", "decision", "task", "artifact"] as const, pick);
    const key = `k${also % 7}`;
    const cause = flag ? { cause: 1 } : {};
    if (also % 4 === 0) append(life, { type: "item.retracted", body: { kind, key }, ...cause });
    else
      append(life, {
        type: "item.recorded",
        body: { kind, key },
        content: { value: outputOf(pick) },
        ...cause,
      });
  },
  pin(life, { pick, flag }) {
    const { items, pins } = now(life).mind;
    const all = [...items.values()].filter(({ kind, key }) => flag || pins.has(`${kind}/${key}`));
    if (all.length === 0) return;
    const { kind, key } = pickOf(all, pick);
    obey(life, { do: flag ? "pin" : "unpin", kind, key });
  },
  load(life, { pick, also, flag }) {
    if (flag) return void append(life, { type: "memory.carried", ...samples["memory.carried"] });
    const body = { ...samples["document.loaded"].body, digest: digest("", `doc ${pick % 4}`) };
    const text = "Use the WAL. 😀".repeat(also % 5 === 0 ? 2_000 : 1);
    append(life, { type: "document.loaded", body, content: { path: `f${pick}.md`, text } });
  },
  tools(life, { pick, also }) {
    const body = { digest: digest("", `tools ${also}`), count: 1 };
    append(life, { type: "tools.bound", body, content: { definitions: definitionsOf(pick) } });
  },
  merge(life, { also }) {
    const { body, content } = samples["session.merged"];
    append(life, { type: "session.merged", body: { ...body, toSeq: also + 1 }, content });
  },
  amend(life, { pick, also, flag }) {
    obey(life, {
      do: "amend",
      ...(pick % 3 === 0 ? { objective: `o${also}` } : { instructions: pick % 2 === 0 ? "" : `i${also}` }),
      ...(flag ? { constraints: also % 2 === 0 ? [] : [`c${pick}`] } : {}),
      ...(also % 5 === 0
        ? {
            pin: {
              agent: `a${pick % 3}`,
              version: 1,
              digest: digest("", "a"),
              definition: { instructions: "I" },
            },
          }
        : {}),
    });
  },
  migrate(life, { pick, also, flag }) {
    const to = pickOf(models, pick);
    life.settings = { model: to, images: flag, ...(also % 2 === 0 ? { reasoning: "low" } : {}) };
    append(life, { type: "session.migrated", body: { from: models[0], to } });
  },
  compact,
  summaryAsked(life, { flag }) {
    const { mind, standing } = now(life);
    if (mind.toSeq === 0 || standing.reserved !== null) return;
    const body = { ...samples["model.requested"].body, inputs: [], purpose: "compaction" as const };
    const request = append(life, { type: "model.requested", body: { ...body, toSeq: mind.toSeq } });
    if (!flag) return void append(life, { type: "model.failed", ...samples["model.failed"] });
    const answer = { ...samples["model.responded"], cause: request };
    append(life, { type: "model.responded", ...answer });
  },
  rewind(life, { pick, flag }) {
    if (now(life).standing.status === "running") obey(life, { do: "suspend" });
    const toSeq = 1 + (pick % now(life).seq);
    obey(life, { do: "rewind", earlier: life.states[toSeq]!, requeue: flag });
  },
  fork,
  erase(life, { pick }) {
    const place = pick % life.records.length;
    life.records[place] = { ...life.records[place]!, content: null, salt: null };
    life.cache.forget();
  },
};

async function request(life: Life, { also }: Move): Promise<void> {
  const { turn } = now(life).standing;
  if (turn === null) return;
  const { settings } = life;
  const inputs = also % 3 === 0 ? waiting(life, also) : [];
  const asked = {
    state: now(life),
    settings,
    inputs,
    // Without a window: another program's request, that plans nothing.
    ...(also % 11 === 0 ? {} : { planning: { windowTokens: pickOf(windows, also) } }),
  };
  const made = await nextContext(worldOf(life), life.session, asked);
  const { parts, digest: context, renderer, newPlan } = made;
  // Requests of before 0.5 have the digest of the whole, and no form.
  const isOld = also % 7 === 0;
  const found = isOld
    ? { context: contextDigest(digest, parts, 1) ?? "" }
    : { context, digestForm: made.digestForm };
  const { cache } = life;
  const kept = await nextContext({ ...worldOf(life), cache }, life.session, { ...asked, isKept: true });
  assert.deepEqual([kept.parts, kept.reasons], [parts, made.reasons], "rendered on is rendered anew");
  assert.equal(kept.digest, context);
  if (cache.render(life.session) !== undefined) life.kept += 1;
  const { model } = settings;
  if (newPlan !== null)
    append(life, { type: "context.planned", body: newPlan.draft.body, content: newPlan.draft.choice });
  const counts = { parts: parts.length, attempt: 1, reserved: {} };
  const body = { model, renderer, inputs, ...counts, ...found };
  const seq = append(life, {
    type: "model.requested",
    body,
    content: { settings },
  });
  life.requests.push({ seq, parts, settings });
}

/** Some of the inputs that wait. */
function waiting(life: Life, pick: number): [number, number][] {
  const { inbox, fork: forked } = now(life).standing;
  const found = life.records.flatMap(({ seq, type, body }): [number, number][] => {
    if (!/^(input|message)\.received$/.test(type) || seq <= (forked?.seq ?? 0)) return [];
    const { input } = JSON.parse(body) as { input: number };
    return includes(inbox.waiting, input) ? [[seq, input]] : [];
  });
  return pick % 2 === 0 ? found : found.slice(0, 1);
}

function settleOne(life: Life, call: string, pick: number, also: number): void {
  const status = pickOf(["ok", "ok", "error", "unknown", "skipped"] as const, also);
  const content = also % 6 === 0 ? {} : { content: outputOf(pick) };
  append(life, { type: "tool.settled", body: { call, status }, ...content });
}

function compact(life: Life, { pick, also, flag }: Move): void {
  const { mind } = now(life);
  if (mind.toSeq === 0) return;
  const strategy = pickOf(["prune", "summarize", "extract"] as const, pick);
  const toSeq = flag ? mind.toSeq : 1 + (also % mind.toSeq);
  const settled = life.records.filter(({ type, seq }) => type === "tool.settled" && seq <= toSeq);
  const content =
    strategy === "prune" ? { pruned: settled.map(({ seq }) => seq) } : { summary: "The run was computed." };
  const { items: _, ...body } = samples["transcript.compacted"].body;
  const extracted = { kind: "fact", key: "extracted" } as const;
  if (strategy === "extract") append(life, { type: "item.recorded", body: extracted, content: { value: 1 } });
  const draft = {
    type: "transcript.compacted",
    body: { ...body, fromSeq: 1, toSeq, strategy },
    content,
  } as const;
  append(life, draft);
}

/** The life goes on as a fork from an earlier position. */
function fork(life: Life, { pick, also, flag }: Move): void {
  const atSeq = 1 + (pick % now(life).seq);
  const state = life.states[atSeq]!;
  life.records = life.records.slice(0, atSeq);
  life.states = life.states.slice(0, atSeq + 1);
  life.requests = life.requests.filter(({ seq }) => seq <= atSeq);
  life.session = idOf(1 + also);
  life.cache.forget();
  const last = life.requests.at(-1);
  const migrated = life.records.some(
    ({ type, seq }) => type === "session.migrated" && seq > (last?.seq ?? 0),
  );
  if (last !== undefined && !migrated) life.settings = last.settings;
  const parentHash = life.records.at(-1)!.hash;
  const objective = flag ? { objective: "What if the rate rises?" } : {};
  const decision = decide(state, { do: "fork", parentHash, by: "person", ...objective }, facts);
  if (decision.ok) append(life, ...decision.drafts);
}

function obey(life: Life, command: Parameters<typeof decide>[1]): void {
  const decision = decide(now(life), command, facts);
  if (decision.ok) append(life, ...decision.drafts);
}

/** A store and a reader of states over a life: small pages, and states as they come back from snapshots. */
export function worldOf({ records, states }: Pick<Life, "records" | "states">): ContextWorld {
  const read = async (_: string, range: ReadRange): Promise<readonly StoredRecord[]> => {
    const { fromSeq, toSeq, types, reverse = false, limit } = range;
    const found = records.filter(
      ({ seq, type }) => fromSeq <= seq && seq <= toSeq && (types === undefined || types.includes(type)),
    );
    return (reverse ? found.toReversed() : found).slice(0, Math.min(limit, 7));
  };
  return {
    store: { read, head: async () => ({ seq: records.length }) } as unknown as Store,
    states: { at: async (_, seq) => parseSnapshot(snapshotText(states[seq]!)) },
    world: { digest },
  };
}
