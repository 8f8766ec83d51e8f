/** The state of a session for people and programs: plain JSON, with the contents that still exist. */
import { isFull } from "../../core/message/decide.ts";
import { present } from "../../core/present.ts";
import { limit } from "../../core/limit.ts";
import type { SessionId } from "../../core/ids.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import { spendOf, type Spend } from "../../core/budget/money.ts";
import { count, includes, type Ranges } from "../../core/range.ts";
import {
  mindHash,
  transcriptRanges,
  type Amounts,
  type ImportedUsage,
  type Ref,
  type State,
  type TurnState,
  type UsedAmounts,
} from "../../core/state.ts";
import { sideBySide } from "./content.ts";
import type { Deps } from "../deps.ts";
import { type SessionItem, readItems, type ReadSaid } from "./projection.ts";
import { makeReadSaid } from "./event-cache.ts";

/** The state of a session as plain JSON: the result of `session.state`. */
export interface StateView {
  readonly session: string;
  /** The session that the work went on in; what is sent to this one arrives there. */
  readonly next: string | null;
  readonly seq: number;
  readonly at: number;
  readonly status: SessionStatus;
  /** Why it is in this status, in words if available. */
  readonly why: { readonly by: string; readonly seq: number; readonly reason: string | null } | null;
  readonly name: string | null;
  readonly objective: string | null;
  readonly agent: { readonly name: string; readonly version: number } | null;
  readonly model: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly openedAt: number;
  readonly fork: { readonly parent: string; readonly seq: number } | null;
  readonly items: readonly SessionItem[];
  readonly scratch: Readonly<Record<string, unknown>>;
  readonly transcript: { readonly ranges: Ranges; readonly compactions: number; readonly openCalls: number };
  /** Calls without an outcome. One whose phase is `asked` waits for an answer. */
  readonly calls: readonly {
    readonly call: string;
    readonly tool: string;
    readonly effect: string;
    readonly phase: string;
    readonly seq: number;
    /** Of an external call: after it the outcome is unknown. */
    readonly deadlineMs?: number;
  }[];
  /** Queued inputs. A full inbox accepts no more messages from sessions. */
  readonly inbox: { readonly count: number; readonly full: boolean };
  /** Undelivered messages to other stores, by receiver and number. */
  readonly outbox: readonly {
    readonly message: string;
    readonly to: string;
    readonly number: number;
    readonly seq: number;
  }[];
  /** Requests that wait for a reply: its own, and those of others to it. */
  readonly requests: readonly (WaitRef & { readonly to: string })[];
  readonly asked: readonly (WaitRef & { readonly from: string })[];
  /** Topics with a message schema. */
  readonly contracts: readonly string[];
  readonly turn: TurnState | null;
  readonly lease: { readonly holder: string; readonly epoch: number } | null;
  readonly bindings: readonly {
    readonly name: string;
    readonly kind: string;
    readonly mode: string;
    /** Its content was erased: it is unusable until it is bound again. */
    readonly erased?: true;
  }[];
  readonly permissions: readonly {
    readonly name: string;
    readonly tool: string;
    readonly rule: string;
    /** For a default: the effect of the tools it covers. */
    readonly effect?: string;
  }[];
  /** `used` includes unconfirmed amounts, because budgets count them. */
  readonly budget: { readonly limits: Amounts; readonly used: UsedAmounts; readonly unpriced: number };
  /** Money and tokens of the session's model calls, the open one included. */
  readonly cost: Spend;
  /** What imported history used in another tool; it counts in no budget and no cost. */
  readonly imported: ImportedUsage;
  readonly checkpoints: Readonly<Record<string, number>>;
  /** The last of each name, and its position. */
  readonly scores: Readonly<Record<string, { readonly value: number; readonly seq: number }>>;
  /** What must pass before it can be closed as completed; `waiting`: not since the last turn. */
  readonly checks: readonly {
    readonly check: string;
    readonly kind: string;
    readonly status: string;
    readonly tries: number;
  }[];
  readonly zone: string;
  /** Why: thresholds and signals. */
  readonly zoneCauses: readonly string[];
  /** What the agent's policy did since the context entered the zone. */
  readonly zoneActions: readonly string[];
  /** Sources that changed since the session read them, by the name of the trigger that marked them. */
  readonly stale: Readonly<Record<string, number>>;
  /** Names of holds. */
  readonly holds: readonly string[];
  readonly erased: { readonly records: number; readonly bytes: number };
  /** The first record that only a newer Skein understands; then the session is read-only. */
  readonly newer: { readonly type: string; readonly v: number; readonly seq: number } | null;
  readonly mindHash: string;
}

interface WaitRef {
  readonly message: string;
  readonly seq: number;
  /** The deadline of the reply. */
  readonly deadlineMs: number;
}

export async function viewState(deps: Deps, session: SessionId, state: State): Promise<StateView> {
  const { store, world } = deps;
  const { mind, standing, seq, at } = state;
  const read = await makeReadSaid(deps, session);
  const field = async (ref: Ref | null, part: string): Promise<string | null> => {
    const content = ref === null ? undefined : (await read(ref.seq))?.content;
    const value = (content as Record<string, unknown> | undefined)?.[part];
    return typeof value === "string" ? value : null;
  };
  const { status, why, labels, priority, openedAt, fork, turn, lease, zone, newer, limits, used, unpriced } =
    standing;
  const [reason, name, objective, items, scratch] = await Promise.all([
    field(why && { seq: why.seq, hash: null }, "reason"),
    field(standing.name, "name"),
    field(standing.objective, "objective"),
    readItems(store, session, state, read),
    readScratch(state, read),
  ]);
  return {
    session: standing.session,
    next: standing.next,
    seq,
    at,
    status,
    why: why && { ...why, reason },
    name,
    objective,
    agent: standing.agent && { name: standing.agent.name, version: standing.agent.version },
    model: standing.model,
    labels: Object.fromEntries(labels.entries()),
    priority,
    openedAt,
    fork,
    items,
    scratch,
    transcript: {
      ranges: transcriptRanges(mind),
      compactions: mind.overlays.length,
      openCalls: mind.calls.size,
    },
    calls: [...mind.calls.entries()].map(([call, { tool, effect, phase, seq: at, deadlineMs }]) => {
      return { call, tool, effect, phase, seq: at, ...present({ deadlineMs }) };
    }),
    inbox: { count: count(standing.inbox.waiting), full: isFull(standing.inbox) },
    ...messagesOf(standing),
    turn,
    lease: lease.held ? { holder: lease.holder, epoch: lease.epoch } : null,
    bindings: [...standing.bindings.entries()].map(([name, { kind, mode, seq: at }]) => {
      const erased = includes(standing.erased.ranges, at) ? { erased: true as const } : {};
      return { name, kind, mode, ...erased };
    }),
    permissions: [...standing.permissions.entries()].map(([name, { tool, rule, effect }]) =>
      present({ name, tool, rule, effect }),
    ),
    budget: { limits, used, unpriced },
    cost: spendOf(state),
    imported: state.standing.imported,
    checkpoints: Object.fromEntries(standing.checkpoints.entries()),
    scores: Object.fromEntries(standing.scores.entries()),
    checks: [...standing.checks.entries()].map(([check, { kind, tries, result }]) => {
      return { check, kind, status: result?.status ?? "waiting", tries };
    }),
    zone,
    zoneCauses: standing.zoneCauses,
    zoneActions: standing.zoneCrossing?.done ?? [],
    stale: Object.fromEntries(standing.stale.entries()),
    holds: [...standing.holds.keys()],
    erased: { records: standing.erased.records, bytes: standing.erased.bytes },
    newer,
    mindHash: mindHash(world.digest, mind),
  };
}

function messagesOf({
  outbox,
  requests,
  asked,
  contracts,
}: State["standing"]): Pick<StateView, "outbox" | "requests" | "asked" | "contracts"> {
  const byTo = (a: { to: string; number: number }, b: { to: string; number: number }): number =>
    a.to === b.to ? a.number - b.number : a.to < b.to ? -1 : 1;
  return {
    outbox: [...outbox.entries()].map(([message, one]) => ({ message, ...one })).toSorted(byTo),
    requests: [...requests.entries()].map(([message, one]) => ({ message, ...one })),
    asked: [...asked.entries()].map(([message, one]) => ({ message, ...one })),
    contracts: [...contracts.keys()],
  };
}

async function readScratch({ mind }: State, read: ReadSaid): Promise<Record<string, unknown>> {
  const refs = [...mind.scratch.entries()].slice(0, limit.scratchMax);
  const entries = await sideBySide(refs, async ([key, { seq }]) => {
    const content = (await read(seq))?.content as { value?: unknown } | undefined;
    return [key, content?.value ?? null] as const;
  });
  return Object.fromEntries(entries);
}
