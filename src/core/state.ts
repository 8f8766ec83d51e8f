/**
 * The state of a session, derived from its log: the mind (what it knows) and the standing (everything else).
 * One subject: the shape of the state, its hash and its snapshots.
 *
 * The state holds names, numbers and positions, never contents: a content is reached by its position and
 * verified by its hash. So a snapshot holds nothing that could be erased, the fold works the same after an
 * erasure, and the canonical form of the mind is the mind itself.
 */
import type { Amounts as AmountsSchema } from "./schema.ts";
import type { CheckState } from "./check/check.ts";
import type { ItemKind, ItemStatus } from "./item/kind.ts";
import type { TriggerKind } from "./trigger/events.ts";
import type { Binding } from "./tool/commands.ts";
import type { z } from "zod";
import type { Digest } from "./chain.ts";
import { SortedMap } from "./sorted-map.ts";
import { noPace } from "./context/latency.ts";
import type { SessionStatus } from "./session/lifecycle.ts";
import { subtract, type Ranges } from "./range.ts";

/** Limits and amounts of a budget. */
export type Amounts = z.infer<typeof AmountsSchema>;

/** The position and hash of a content. */
export interface Ref {
  readonly seq: number;
  readonly hash: string | null;
}

/** An item of the durable tier, under `kind/key`. */
export interface ItemRef extends Ref {
  readonly kind: ItemKind;
  readonly key: string;
  /** Null for kinds without a status, and for a decision that stands. */
  readonly status: ItemStatus | null;
  /** Of a hypothesis or a finding, if given. */
  readonly confidence?: number;
  /** A compaction found it; see `item.recorded`. */
  readonly extracted?: { readonly saidAt?: number | undefined; readonly untrusted?: boolean | undefined };
}

/** A requested call without an outcome. */
export interface OpenCall {
  readonly seq: number;
  readonly tool: string;
  readonly effect: "read" | "idempotent" | "unsafe" | "session";
  readonly phase: "requested" | "asked" | "approved" | "started";
  /** The number of starts. */
  readonly attempts: number;
  /** Of an external call: after it the outcome is unknown. */
  readonly deadlineMs?: number;
}

/** A range of the transcript that the content at `seq` replaces in the context. */
export interface Overlay extends Ref {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly strategy: "prune" | "summarize" | "extract";
  /** The durable tier at that time, which the context shows in place of the range; empty if pruned. */
  readonly items: SortedMap<ItemRef>;
}

/** The part of the state that rewinds with the session. */
export interface Mind {
  /** The last event of the transcript; 0 if it is empty. */
  readonly toSeq: number;
  /** The positions that were rewound: their events are not part of this mind. */
  readonly lost: Ranges;
  readonly overlays: readonly Overlay[];
  /** Where the first turn began; 0 before it. Documents from before it are part of the instructions. */
  readonly firstTurnSeq: number;
  readonly items: SortedMap<ItemRef>;
  /** Pinned items: `kind/key`, and where each was pinned. */
  readonly pins: SortedMap<number>;
  readonly scratch: SortedMap<Ref>;
  /** By digest. */
  readonly documents: SortedMap<Ref & { readonly kind: string }>;
  readonly memory: readonly Ref[];
  /** Per other session: the position up to which it has been merged. */
  readonly bases: SortedMap<number>;
  readonly calls: SortedMap<OpenCall>;
}

/** The turn in progress. */
export interface TurnState {
  readonly number: number;
  readonly startedSeq: number;
  readonly steps: number;
  /** Model calls of this step; 0 once the model has answered. */
  readonly attempts: number;
  /** How the last answer of this turn finished, and its number of calls; null before the first answer. */
  readonly answered: { readonly finish: string; readonly calls: number } | null;
  readonly interrupted: boolean;
}

/** The lease of a session, as recorded in the log. */
export type Lease =
  | { readonly held: false }
  | { readonly held: true; readonly holder: string; readonly epoch: number; readonly leaseMs: number };

/** The amounts that a project bounds for all its sessions together. */
export type Spendable = Readonly<Record<"tokens" | "nanoUsd", number>>;

/** What a session has used of its budget. */
export interface UsedAmounts {
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly steps: number;
  readonly turns: number;
  readonly toolCalls: number;
  readonly wallMs: number;
}

/** Model calls that another tool made, as its transcript reports them. */
export interface ImportedUsage {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanoUsd: number;
  /** Calls whose price is unknown: their cost is not in `nanoUsd`. */
  readonly unpriced: number;
}

/** A model call without an outcome yet. */
export interface OpenModelCall {
  readonly seq: number;
  readonly model: string;
  readonly amounts: Amounts;
  /** Another program made it, through the recording proxy. No runner waits for it. */
  readonly isForwarded?: boolean;
}

/** Tokens of imported history that belong to no answer. */
export interface OtherUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly nanoUsd: number;
}

/** Model calls, settled or lost. Their money is in `used`; see money.ts. */
export interface CallCounts {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly estimated: number;
  /** The part of `used` that is an upper bound, which no provider confirmed. */
  readonly unconfirmedTokens: number;
  readonly unconfirmedNanoUsd: number;
}

/**
 * Queued inputs by their number in the inbox, which is dense, unlike positions. `received` counts all inputs
 * ever. All queued inputs are at or after `fromSeq`; 0 if the queue is empty.
 */
export interface Inbox {
  readonly waiting: Ranges;
  readonly received: number;
  readonly fromSeq: number;
}

/** What wakes a session; its details are the content at `seq`. */
export interface TriggerRef extends Ref {
  readonly kind: TriggerKind;
  readonly missed: "once" | "all" | "skip";
  /** When it fires next; null if it is not timed, or never fires again. */
  readonly nextMs: number | null;
  /** The digest of the last cause; before the first firing, of what it watched when it was set. */
  readonly lastCause: string | null;
  /** The number of the input for the last firing; 0 if there was none. */
  readonly input: number;
  readonly topic: string | null;
  readonly from: string | null;
  /** Where a session before this one had set it first. Its causes are counted by that position. */
  readonly origin?: { readonly session: string; readonly seq: number };
}

/** Where the objective, instructions and constraints were last amended; absent: as opened. */
export interface AmendedTexts {
  readonly objective?: number;
  readonly instructions?: number;
  readonly constraints?: number;
}

/** Model settings of a session, in place of its agent's. */
export interface ModelSettings {
  readonly temperature?: number;
  readonly reasoning?: "none" | "low" | "medium" | "high";
  readonly outputTokensMax?: number;
}

/** Version 0: a bare name, without a pinned definition. */
export interface AgentRef {
  readonly name: string;
  readonly version: number;
  readonly seq: number;
}

/** The part of the state that no rewind touches. */
export interface Standing {
  /** Empty before the first record. */
  readonly session: string;
  readonly workspace: string | null;
  readonly openedAt: number;
  /** The parent of this fork, and the last position they share. */
  readonly fork: { readonly parent: string; readonly seq: number } | null;
  /** The session that the work went on in, by `clear` or `rollover`; of the first of a chain, the newest. */
  readonly next: string | null;
  /** The first session of the chain that this one continues; null for the first itself. */
  readonly first: string | null;
  /** The project it belongs to; a fork belongs to its parent's. */
  readonly project: string | null;
  /** The session that opened this one. */
  readonly parent: { readonly session: string; readonly seq: number } | null;
  /** The number of ancestors by `parent`: 0 for a session that a person opened. */
  readonly depth: number;
  /** The session closes at the end of the first turn after which it waits for nothing. */
  readonly closesWhenDone: boolean;
  /** The session that allotted a part of its budget to this one, and the net amount; null without one. */
  readonly payer: { readonly session: string; readonly amounts: Amounts } | null;
  readonly agent: AgentRef | null;
  readonly texts: AmendedTexts;
  readonly settings: ModelSettings;
  /** What the context begins with, once it was amended; null: with what holds now. */
  readonly front: {
    readonly agent: AgentRef | null;
    readonly texts: AmendedTexts;
    /** The first amendment that the context shows where it was made. */
    readonly sinceSeq: number;
  } | null;
  readonly model: string | null;
  readonly name: Ref | null;
  readonly objective: Ref | null;
  readonly labels: SortedMap<string>;
  readonly priority: number;
  readonly expiresAfterIdleMs: number | null;
  readonly status: SessionStatus;
  /** The cause of the status, where the status alone does not tell. */
  readonly why: { readonly by: string; readonly seq: number } | null;
  readonly turn: TurnState | null;
  /** The number of the last turn; a fork continues its parent's count. */
  readonly lastTurn: number;
  readonly sleep: { readonly untilMs: number | null; readonly triggers: readonly string[] } | null;
  readonly lease: Lease;
  /**
   * The lease holder works on a turn, and its time is counted up to here; null if the session is not being
   * worked on.
   */
  readonly workedTo: number | null;
  readonly bindings: SortedMap<Ref & { readonly kind: Binding["kind"]; readonly mode: "read" | "write" }>;
  /** The tools offered to the model since the last compaction, rewind or migration: the last entry counts. */
  readonly tools: readonly (Ref & { readonly digest: string })[];
  readonly permissions: SortedMap<
    Ref & {
      readonly tool: string;
      readonly rule: "allow" | "ask" | "deny";
      /** Of a default rule: the effect of the tools it covers. */
      readonly effect?: "unsafe";
    }
  >;
  readonly limits: Amounts;
  readonly used: UsedAmounts;
  /** Model calls with an unknown price, whose cost is not in `used`. */
  readonly unpriced: number;
  readonly calls: CallCounts;
  /** The last call that was recorded as lost. Its runner can still report what it cost. */
  readonly lost: { readonly seq: number; readonly amounts: Amounts } | null;
  /** The most that the model call in flight may cost. It counts as spent until the call is settled. */
  readonly reserved: OpenModelCall | null;
  /**
   * What the session may use in all of the budget of its project: used at the first draw, and drawn since.
   * Null before it has drawn. `base` is what it had used before; that is not charged to the project again.
   */
  readonly drawn: { readonly upTo: Spendable; readonly base: Spendable } | null;
  /** Allotted to other sessions, minus refunds. */
  readonly allotted: UsedAmounts;
  readonly holds: SortedMap<number>;
  readonly triggers: SortedMap<TriggerRef>;
  /** Sources that changed since they were read, by the name of the trigger, and where it was marked. */
  readonly stale: SortedMap<number>;
  readonly inbox: Inbox;
  /** Per other session: the number of the last message sent to it, and received from it. */
  readonly sent: SortedMap<number>;
  readonly received: SortedMap<number>;
  /** Messages to other stores without a confirmed delivery, by id. */
  readonly outbox: SortedMap<{ readonly to: string; readonly number: number; readonly seq: number }>;
  /** Requests that wait for a reply, sent and received, by id. */
  readonly requests: SortedMap<{ readonly to: string; readonly seq: number; readonly deadlineMs: number }>;
  readonly asked: SortedMap<{
    readonly from: string;
    readonly seq: number;
    readonly deadlineMs: number;
    /** The session before this one that it was sent to. */
    readonly as?: string;
  }>;
  /** The last handoff. */
  readonly handoff: (Ref & { readonly toSeq: number }) | null;
  readonly contracts: SortedMap<Ref>;
  readonly checkpoints: SortedMap<number>;
  readonly scores: SortedMap<{ readonly value: number; readonly seq: number }>;
  /** What must have passed before the session is completed. A rewind makes their results stale. */
  readonly checks: SortedMap<CheckState>;
  readonly erased: { readonly ranges: Ranges; readonly records: number; readonly bytes: number };
  /** The renderer of the last request; null where the next request may use another one. */
  readonly renderer: number | null;
  /** The plan of the context (`context.planned`) since the last boundary; null without one. */
  readonly plan: number | null;
  readonly zone: "smart" | "strained" | "full";
  /** Why: the thresholds and signals of the last `zone.crossed`. */
  readonly zoneCauses: readonly string[];
  /**
   * Where it entered the zone from a better one, or a cause was added, and what was done about it. With
   * `onlyTells` only a cause was added. Null: nothing is due.
   */
  readonly zoneCrossing: {
    readonly seq: number;
    readonly done: readonly string[];
    readonly onlyTells?: true;
  } | null;
  /** How long its answers take, since the context began. */
  readonly pace: {
    readonly first: readonly (readonly [ms: number, outputTokens: number])[];
    readonly last: readonly (readonly [ms: number, outputTokens: number])[];
  };
  /** Where the context begins: after which turn, and when. At the opening, or the last compaction. */
  readonly contextFrom: { readonly turn: number; readonly at: number };
  /** The status that a moved session resumes on arrival. */
  readonly movedFrom: SessionStatus | null;
  /** How far the transcript of another tool was imported; null for a session that began here. */
  readonly source:
    | (Ref & {
        readonly tool: string;
        readonly entries: number;
        readonly ids: string;
        /** Tokens of the source that belong to no answer, as far as they are counted. */
        readonly other: OtherUsage | null;
      })
    | null;
  /** What the model calls of imported history used elsewhere. It counts in no budget and no cost here. */
  readonly imported: ImportedUsage;
  /** The session came from an untrusted source, and no person has activated it since. See review.ts. */
  readonly unreviewed: boolean;
  /** The first record that only a newer program understands: from there on the session is read-only. */
  readonly newer: { readonly type: string; readonly v: number; readonly seq: number } | null;
}

/**
 * Why a session with a rolled-back log is suspended: its store lost records that it had acknowledged. The
 * session stays suspended until a person activates it.
 */
export const rolledBackReason = "set-back";

/** Why an imported session is suspended until it is reviewed. Only a person can activate it. */
export const imported = "imported";

/** The state of a session, folded from its log: names and positions, no contents. */
export interface State {
  /** The position of this state; 0 before the first record. */
  readonly seq: number;
  readonly at: number;
  readonly mind: Mind;
  readonly standing: Standing;
}

/** The resources that a budget limits and usage counts. */
export const resources = ["tokens", "nanoUsd", "steps", "turns", "toolCalls", "wallMs"] as const;

const nothingUsed: UsedAmounts = { tokens: 0, nanoUsd: 0, steps: 0, turns: 0, toolCalls: 0, wallMs: 0 };

const emptyMind: Mind = {
  toSeq: 0,
  lost: [],
  overlays: [],
  firstTurnSeq: 0,
  items: SortedMap.empty(),
  pins: SortedMap.empty(),
  scratch: SortedMap.empty(),
  documents: SortedMap.empty(),
  memory: [],
  bases: SortedMap.empty(),
  calls: SortedMap.empty(),
};

export const emptyStanding: Standing = {
  session: "",
  workspace: null,
  openedAt: 0,
  fork: null,
  next: null,
  first: null,
  project: null,
  parent: null,
  depth: 0,
  closesWhenDone: false,
  payer: null,
  agent: null,
  texts: {},
  settings: {},
  front: null,
  model: null,
  name: null,
  objective: null,
  labels: SortedMap.empty(),
  priority: 5,
  expiresAfterIdleMs: null,
  status: "open",
  why: null,
  turn: null,
  lastTurn: 0,
  sleep: null,
  lease: { held: false },
  workedTo: null,
  bindings: SortedMap.empty(),
  tools: [],
  permissions: SortedMap.empty(),
  limits: {},
  used: nothingUsed,
  unpriced: 0,
  calls: {
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    estimated: 0,
    unconfirmedTokens: 0,
    unconfirmedNanoUsd: 0,
  },
  lost: null,
  reserved: null,
  drawn: null,
  allotted: nothingUsed,
  holds: SortedMap.empty(),
  triggers: SortedMap.empty(),
  stale: SortedMap.empty(),
  inbox: { waiting: [], received: 0, fromSeq: 0 },
  sent: SortedMap.empty(),
  received: SortedMap.empty(),
  outbox: SortedMap.empty(),
  requests: SortedMap.empty(),
  asked: SortedMap.empty(),
  handoff: null,
  contracts: SortedMap.empty(),
  checkpoints: SortedMap.empty(),
  scores: SortedMap.empty(),
  checks: SortedMap.empty(),
  erased: { ranges: [], records: 0, bytes: 0 },
  renderer: null,
  plan: null,
  zone: "smart",
  zoneCauses: [],
  zoneCrossing: null,
  pace: noPace,
  contextFrom: { turn: 0, at: 0 },
  movedFrom: null,
  source: null,
  imported: { calls: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0, unpriced: 0 },
  unreviewed: false,
  newer: null,
};

export const emptyState: State = { seq: 0, at: 0, mind: emptyMind, standing: emptyStanding };

/**
 * The position ranges of the transcript; events of other types within them do not count. Their number depends
 * on the rewinds, never on the messages.
 */
export const transcriptRanges = (mind: Mind): Ranges =>
  mind.toSeq === 0 ? [] : subtract([[1, mind.toSeq]], mind.lost);

/** The form that `mindHash` covers. A change of form gets a new number; old hashes name theirs. */
export const mindForm = 1;

/** The hash of the mind: SHA-256 of its canonical JSON in form 1. */
export const mindHash = (digest: Digest, mind: Mind): string =>
  digest("", JSON.stringify(canonicalMind(mind)));

function canonicalMind(mind: Mind): unknown {
  return {
    transcript: transcriptRanges(mind),
    overlays: mind.overlays.map(({ fromSeq, toSeq, strategy, seq, hash }) => [
      fromSeq,
      toSeq,
      strategy,
      seq,
      hash,
    ]),
    items: [...mind.items.entries()].map(([key, { status, seq, hash }]) => [key, status, seq, hash]),
    ...(mind.pins.size === 0 ? {} : { pins: [...mind.pins.entries()] }),
    scratch: [...mind.scratch.entries()].map(([key, { seq, hash }]) => [key, seq, hash]),
    documents: [...mind.documents.entries()].map(([digest, { kind, seq, hash }]) => [
      digest,
      kind,
      seq,
      hash,
    ]),
    memory: mind.memory.map(({ seq, hash }) => [seq, hash]),
    bases: [...mind.bases.entries()],
    calls: [...mind.calls.entries()].map(([call, { seq, tool, effect, phase }]) => [
      call,
      seq,
      tool,
      effect,
      phase,
    ]),
  };
}

/** The form of written snapshots. Snapshots of other forms are ignored and rebuilt. */
export const snapshotForm = 13;

export const snapshotText = (state: State): string => JSON.stringify(state);

/** Keyed maps are stored as their entries; these are the fields that hold them. */
const keyedInMind = ["items", "pins", "scratch", "documents", "bases", "calls"] as const;
const keyedInStanding = [
  "labels",
  "bindings",
  "permissions",
  "holds",
  "triggers",
  "stale",
  "sent",
  "received",
  "outbox",
  "requests",
  "asked",
  "contracts",
  "checkpoints",
  "scores",
  "checks",
] as const;

export function parseSnapshot(text: string): State {
  const raw = JSON.parse(text) as { mind: Record<string, unknown>; standing: Record<string, unknown> };
  for (const name of keyedInMind) raw.mind[name] = SortedMap.from(raw.mind[name] as [string, unknown][]);
  for (const overlay of raw.mind["overlays"] as { items: unknown }[])
    overlay.items = SortedMap.from(overlay.items as [string, ItemRef][]);
  for (const name of keyedInStanding)
    raw.standing[name] = SortedMap.from(raw.standing[name] as [string, unknown][]);
  return raw as unknown as State;
}
