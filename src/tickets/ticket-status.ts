/** The status of a plan's tickets: derived only from the sessions with its labels. */
import { createHash } from "node:crypto";
import { spendOf } from "../core/budget/money.ts";
import { dueOf } from "../core/trigger/schedule.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { State } from "../core/state.ts";
import { proofOf, triesDefault, type ProofKnowledge } from "./ticket-proof.ts";
import { ticketForm, type Plan } from "./plan.ts";
import type { Ticket } from "./plan-draft.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { Session } from "../runtime/engine/session.ts";
import { realWorld } from "../runtime/world.ts";

/**
 * `waiting` for its predecessors, `ready` to start, `running` or about to, `blocked` until a person acts,
 * `done`, `failed`, or `skipped` because a predecessor failed.
 */
export type TicketStatus = "waiting" | "ready" | "running" | "blocked" | "done" | "failed" | "skipped";

/** A ticket and its status. */
export interface TicketRow {
  readonly ticket: string;
  readonly title: string;
  readonly status: TicketStatus;
  /** What it waits for, what blocks it, or why it failed. */
  readonly why: string | null;
  readonly after: readonly string[];
  readonly session: SessionId | null;
  /** Of the session: how often the ticket was started. */
  readonly attempt: number;
  readonly branch: string | null;
  /** The cost of its session, as in `state().cost`. */
  readonly nanoUsd: number;
  readonly unconfirmedNanoUsd: number;
  readonly unpriced: number;
  /** Working time. */
  readonly wallMs: number;
  /** Whether the plan has changed since the ticket started. */
  readonly changed: boolean;
}

/** The next action for an idle ticket. */
type Due = "tell" | "finish" | "again" | "fail" | null;

export interface TicketStanding {
  readonly row: TicketRow;
  readonly due: Due;
  /** Whether it has accept checks. */
  readonly isChecked?: boolean;
  /** The position of this reading. */
  readonly seq: number;
}

interface StartedTicket {
  readonly session: SessionId;
  readonly attempt: number;
  readonly text: string | null;
  readonly branch: string | null;
  readonly openedAt: number;
}

/** The last session of each ticket of a plan. */
async function begunOf(engine: Engine, plan: string): Promise<Map<string, StartedTicket>> {
  const found = new Map<string, StartedTicket>();
  for (let cursor: string | undefined; ;) {
    const more = cursor === undefined ? {} : { cursor };
    const page = await engine.sessions({ labels: { plan }, limit: limit.listMax, ...more });
    for (const { session, labels, openedAt, copy, parent } of page.rows) {
      const { ticket, attempt = "1", text = null, branch = null } = labels;
      if (ticket === undefined || copy === true || parent !== null) continue;
      const one = { session, attempt: Number(attempt) || 1, text, branch, openedAt };
      const known = found.get(ticket);
      const isLater =
        known === undefined ||
        one.attempt > known.attempt ||
        (one.attempt === known.attempt && one.openedAt > known.openedAt);
      if (isLater) found.set(ticket, one);
    }
    if (page.cursor === null) return found;
    cursor = page.cursor;
  }
}

/** A short digest of the ticket's text. */
export const textMark = (ticket: Ticket): string =>
  createHash("sha256").update(ticketForm(ticket)).digest("hex").slice(0, 12);

/** What the runner of a plan knows besides the store. */
export interface PlanKnowledge extends ProofKnowledge {
  /** Failures of this run that are not in the store. */
  readonly troubles: ReadonlyMap<string, TicketTrouble>;
  /** Closed sessions: they are read once. */
  readonly over: Map<SessionId, TicketStanding>;
}

export interface TicketTrouble {
  readonly status: "failed" | "blocked";
  readonly why: string;
}

/** The status of all tickets, in plan order. */
export async function standingsOf(
  engine: Engine,
  plan: Plan,
  known: PlanKnowledge = { troubles: new Map(), over: new Map(), tries: triesDefault, proved: new Set() },
): Promise<readonly TicketStanding[]> {
  const begun = await begunOf(engine, plan.name);
  const found = new Map<string, TicketStanding>();
  for (const ticket of plan.tickets) {
    const one = begun.get(ticket.id);
    const trouble = known.troubles.get(ticket.id);
    const base = one === undefined ? unopened(ticket, trouble) : await opened(engine, ticket, one, known);
    if (base === null) continue;
    const { row } = base;
    const isStuck = trouble !== undefined && row.status !== "done" && row.status !== "failed";
    found.set(ticket.id, isStuck ? { ...base, row: { ...row, ...trouble }, due: null } : base);
  }
  const statuses = new Map([...found].map(([id, { row }]) => [id, row.status]));
  return plan.tickets.map(
    (ticket) => found.get(ticket.id) ?? { row: notBegun(ticket, { plan, statuses }), due: null, seq: 0 },
  );
}

/** The status of a ticket without a session, if it depends on no others; null otherwise. */
function unopened(ticket: Ticket, trouble: TicketTrouble | undefined): TicketStanding | null {
  const row = nothingBegun(ticket);
  if (ticket.done === true)
    return { row: { ...row, status: "done", why: "ticked off in the plan" }, due: null, seq: 0 };
  return trouble === undefined ? null : { row: { ...row, ...trouble }, due: null, seq: 0 };
}

async function opened(
  engine: Engine,
  ticket: Ticket,
  begun: StartedTicket,
  known: PlanKnowledge,
): Promise<TicketStanding> {
  const { over: ended } = known;
  const before = ended.get(begun.session);
  if (before !== undefined) return before;
  const now = await standingOf(engine, ticket, begun, known);
  if (now.row.status === "done" || now.row.status === "failed") ended.set(begun.session, now);
  return now;
}

const nothingBegun = ({ id, title, after }: Ticket): Omit<TicketRow, "status" | "why"> => ({
  ticket: id,
  title,
  after,
  session: null,
  attempt: 0,
  branch: null,
  nanoUsd: 0,
  unconfirmedNanoUsd: 0,
  unpriced: 0,
  wallMs: 0,
  changed: false,
});

interface Others {
  readonly plan: Plan;
  /** Of the tickets known so far; requested ones are added. */
  readonly statuses: Map<string, TicketStatus>;
}

/** Tickets may be in any order in a plan, and it has no cycle. */
function statusOf(id: string, others: Others): TicketStatus {
  const known = others.statuses.get(id);
  if (known !== undefined) return known;
  const ticket = others.plan.tickets.find((one) => one.id === id);
  const status = ticket === undefined ? "waiting" : notBegun(ticket, others).status;
  others.statuses.set(id, status);
  return status;
}

function notBegun(ticket: Ticket, others: Others): TicketRow {
  const before = ticket.after.map((id) => ({ id, status: statusOf(id, others) }));
  const lost = before.filter(({ status }) => status === "failed" || status === "skipped");
  const open = before.filter(({ status }) => status !== "done");
  const row = nothingBegun(ticket);
  if (lost.length > 0) {
    const named = lost.map(
      ({ id, status }) => `${id}, which ${status === "failed" ? "failed" : "is skipped"}`,
    );
    return { ...row, status: "skipped", why: `after ${named.join(", and ")}` };
  }
  if (open.length === 0) return { ...row, status: "ready", why: null };
  const named = open.map(({ id, status }) => (status === "blocked" ? `${id} (blocked)` : id));
  return { ...row, status: "waiting", why: `after ${named.join(", ")}` };
}

async function standingOf(
  engine: Engine,
  ticket: Ticket,
  begun: StartedTicket,
  known: ProofKnowledge,
): Promise<TicketStanding> {
  const { session, attempt, branch, text } = begun;
  const handle = await engine.session(session);
  const state = await handle.fold();
  const { wallMs } = state.standing.used;
  const { nanoUsd, unconfirmedNanoUsd, unpriced } = spendOf(state);
  const stands = await readStanding(engine, handle, state, known);
  const { status, why } = stands;
  const changed = text !== null && text !== textMark(ticket);
  const { id, title, after } = ticket;
  const own = { ticket: id, title, status, why, after, session, attempt, branch, wallMs, changed };
  const row = { ...own, nanoUsd, unconfirmedNanoUsd, unpriced };
  return { row, due: stands.due, seq: state.seq, isChecked: state.standing.checks.size > 0 };
}

interface Stands {
  readonly status: TicketStatus;
  readonly why: string | null;
  readonly due: Due;
}

const stands = (status: TicketStatus, why: string | null = null, due: Due = null): Stands => ({
  status,
  why,
  due,
});

async function readStanding(
  engine: Engine,
  session: Session,
  state: State,
  known: ProofKnowledge,
): Promise<Stands> {
  const { status, why, newer, sleep, inbox, lastTurn } = state.standing;
  if (newer !== null) return stands("blocked", "a newer Skein wrote to it");
  if (status === "moved") return stands("blocked", "it lives elsewhere now");
  if (status === "closed" || status === "archived") return over(session, state);
  if (status === "suspended") {
    const reason = await reasonAt(session, why?.seq ?? 0);
    const by = why?.by ?? "person";
    return stands("blocked", reason === null ? by : `${by}: ${reason}`);
  }
  if (dueOf(state) === 0) return stands("running");
  // Its runner has not released it yet.
  if (state.standing.lease.held && (await isRun(engine, session, state))) return stands("running");
  if (status === "sleeping") return asleep(sleep?.untilMs ?? null, dueOf(state));
  if (lastTurn === 0 && inbox.received === 0) return stands("running", null, "tell");
  const found = ended(await lastBody(session, "turn.ended"));
  if (found.due !== "finish" || state.standing.checks.size === 0) return found;
  const proof = await proofOf(session, state, known);
  return proof.due === "block" ? stands("blocked", proof.why) : stands("running", proof.why, proof.due);
}

/** A time arrives on its own; anything else needs a person. */
function asleep(untilMs: number | null, dueMs: number | null): Stands {
  if (untilMs !== null) return stands("running", `asleep until ${new Date(untilMs).toISOString()}`);
  if (dueMs !== null) return stands("running", `asleep until a trigger fires`);
  return stands("blocked", "asleep: it waits for an input, a message or a trigger");
}

function ended(body: Outcome | null): Stands {
  const outcome = body?.outcome ?? "interrupted";
  if (outcome === "completed") return stands("running", null, "finish");
  if (outcome === "refused") return stands("running", "the model refused", "fail");
  if (outcome === "failed") return stands("running", "its turn failed", "fail");
  const what = outcome === "length" ? "the answer was cut off at its length" : `its turn was ${outcome}`;
  return stands("blocked", `${what}: it waits for an input`);
}

async function over(session: Session, { standing }: State): Promise<Stands> {
  const body = await lastBody(session, "session.closed");
  const outcome = body?.outcome ?? standing.why?.by ?? "failed";
  if (outcome === "completed") return stands("done");
  const reason = await reasonAt(session, body?.seq ?? 0);
  return stands(
    "failed",
    reason === null ? outcome : outcome === "failed" ? reason : `${outcome}: ${reason}`,
  );
}

interface Outcome {
  readonly outcome?: string;
  readonly seq: number;
}

/** The outcome in the last event of a type, and its position. */
async function lastBody(session: Session, type: string): Promise<Outcome | null> {
  for await (const { seq, body } of session.events({ types: [type], reverse: true, limit: 1 }))
    return { ...(body as { readonly outcome?: string }), seq };
  return null;
}

async function reasonAt(session: Session, seq: number): Promise<string | null> {
  if (seq === 0) return null;
  for await (const { content } of session.events({ fromSeq: seq, toSeq: seq })) {
    const { reason } = (content ?? {}) as { readonly reason?: unknown };
    if (typeof reason === "string") return reason;
  }
  return null;
}

const world = realWorld();

/** Whether a process runs the session now: the holder of the lease in the log may be dead. */
async function isRun(engine: Engine, { id }: Session, { standing }: State): Promise<boolean> {
  const { plan = "", ticket = "" } = Object.fromEntries(standing.labels.entries());
  const { rows } = await engine.sessions({ labels: { plan, ticket }, limit: limit.listMax });
  const runBy = rows.find(({ session }) => session === id)?.runBy ?? null;
  return runBy !== null && world.isGone?.(runBy) !== true;
}
