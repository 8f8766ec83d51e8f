/** The judgment: what must be true of the logs when all is over, read from the store itself. */
import type { StoredRecord } from "../../src/core/chain.ts";
import type { LogId, SessionId } from "../../src/core/ids.ts";
import { emptyState, type State } from "../../src/core/state.ts";
import { readContext } from "../../src/runtime/context/context-reader.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { makeStateReader, unread, type KnownState } from "../../src/runtime/read/state-reader.ts";
import type { World } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { isCarried, judgeChains, type Told } from "./chain.ts";
import { followCalls, followInputs } from "./follow.ts";
import { judgeMoney } from "./money.ts";
import { followTriggers } from "./schedule.ts";
import type { Given } from "./people.ts";
import type { Witness } from "./witness.ts";

interface Court {
  readonly store: Store;
  readonly world: World;
  readonly witness: Witness;
  readonly given: readonly Given[];
}

export async function judge(court: Court): Promise<void> {
  const { store, world, witness } = court;
  const logs = new Map<SessionId, Told>();
  for (const session of witness.sessions) {
    const told = await judgeSession(court, session);
    if (told !== null) logs.set(session, told);
  }
  judgeChains(logs, witness.note, (text) => witness.blame("chain", text));
  judgeGiven(court, await textsOf(court));
  await judgeMessages(court);
  const { workspace } = store;
  const templates = await recordsOf(store, workspace);
  followTriggers(workspace, templates, witness.clocks, (text) => witness.blame("trigger", text));
  judgeVerbs(witness);
  const report = await new Engine({ store, world }).verify();
  for (const { session, seq, problem } of report.problems)
    witness.blame("chain", `${session}@${seq}: ${problem}`);
  if (report.records === 0) witness.blame("chain", "nothing was verified");
}

async function judgeSession(court: Court, session: SessionId): Promise<Told | null> {
  const { store, witness } = court;
  const head = await store.head(session);
  if (head === undefined) {
    witness.blame("broken", `${session} is gone`);
    return null;
  }
  const records = await recordsOf(store, session);
  const states = await statesOf(store, session, head.seq);
  const blame = (fault: Parameters<Witness["blame"]>[0], text: string): void =>
    witness.blame(fault, `${session}${text}`);
  followCalls(records, states, (text) => blame("outcome", text));
  followInputs(records, states, (text) => blame("inputs", text));
  followTriggers(session, records, witness.clocks, (text) => blame("trigger", text));
  judgeWakes(records, states, (text) => blame("trigger", text));
  judgeMoney(session, states, records, witness, (text) => blame("money", text));
  await judgeContexts(court, session, records, states);
  return { records, states, openedSeq: witness.openings.get(session) ?? 0 };
}

/** A trigger that a session sleeps for wakes it. */
function judgeWakes(
  records: readonly StoredRecord[],
  states: readonly State[],
  blame: (text: string) => void,
): void {
  for (const { seq, type, body } of records) {
    if (type !== "trigger.fired") continue;
    const { name } = JSON.parse(body) as { name: string };
    const { status, sleep } = states[seq - 1]!.standing;
    const listens = sleep === null || sleep.triggers.length === 0 || sleep.triggers.includes(name);
    const after = records.find((record) => record.seq > seq && record.type !== "trigger.fired");
    if (status === "sleeping" && listens && states[after?.seq ?? seq]?.standing.status === "sleeping")
      blame(`@${seq}: trigger ${name} fired, and woke nobody`);
  }
}

/** The state at each position, 0 before the first. */
async function statesOf(store: Store, session: SessionId, toSeq: number): Promise<State[]> {
  const reader = makeStateReader(store);
  const states: State[] = [emptyState];
  let known: KnownState = unread();
  for (let seq = 1; seq <= toSeq; seq++) {
    known = await reader.advance(session, known, seq);
    states.push(known.state);
  }
  return states;
}

async function recordsOf(store: Store, session: LogId): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (;;) {
    const fromSeq = records.length + 1;
    const page = await store.read(session, { fromSeq, toSeq: Infinity, limit: 1_000, contents: true });
    if (page.length === 0) return records;
    records.push(...page);
  }
}

async function judgeContexts(
  { store, world, witness }: Court,
  session: SessionId,
  records: readonly StoredRecord[],
  states: readonly State[],
): Promise<void> {
  const context = { store, world, states: { at: async (_: string, seq: number) => states[seq]! } };
  for (const { seq, type, session: owner } of records) {
    // What a fork shares is judged with its parent.
    if (type !== "model.requested" || owner !== session) continue;
    const { matches } = await readContext(context, session, { atSeq: seq });
    witness.note("context rebuilt");
    if (matches !== true) witness.blame("context", `${session}@${seq} is not what was sent`);
  }
}

/** Where each text that people gave stands. What went over to a next session is there as a copy. */
async function textsOf({ store, witness }: Court): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const session of witness.sessions) {
    const openedSeq = witness.openings.get(session) ?? 0;
    for (const record of await recordsOf(store, session)) {
      const { type, seq, content, session: owner } = record;
      if (type !== "input.received" || owner !== session || isCarried(record, openedSeq)) continue;
      const { blocks } = JSON.parse(content ?? "{}") as { blocks?: readonly { text?: string }[] };
      const name = `${blocks?.[0]?.text}`;
      found.set(name, [...(found.get(name) ?? []), `${session}@${seq}`]);
    }
  }
  return found;
}

/** What was acknowledged is there once, where it was said to be; what surely failed is not there. */
function judgeGiven({ given, witness }: Court, texts: ReadonlyMap<string, readonly string[]>): void {
  for (const { session, at: there = session, text, told, keyed } of given) {
    const at = texts.get(text) ?? [];
    const where = `${session}: "${text}" is at [${at.join(", ")}], and its giver was told ${there}@${told}`;
    if (at.length > 1) witness.blame("inputs", where);
    else if (
      typeof told === "number" ? at[0] !== `${there}@${told}` : told !== "unknown" && !keyed && at.length > 0
    )
      witness.blame("inputs", where);
  }
}

/** What only people write is there as often as they were told that it is, or as they were left in doubt. */
function judgeVerbs({ counts, blame }: Witness): void {
  const verbs = {
    interrupt: "session.interrupted",
    rewind: "session.rewound",
    cancel: "session.closed cancelled",
    reopen: "session.reopened",
    "rollover clear": "rolled over",
  };
  for (const [verb, type] of Object.entries(verbs)) {
    const sum = (how: string): number =>
      verb.split(" ").reduce((all, one) => all + (counts.get(`${one} ${how}`) ?? 0), 0);
    const told = sum("done");
    const doubted = sum("unknown");
    const there = counts.get(type) ?? 0;
    if (there < told || there > told + doubted)
      blame("told", `${type} is there ${there} times; told ${told}, in doubt ${doubted}`);
  }
}

interface Mail {
  readonly message: string;
  readonly to?: string;
  readonly from?: string;
}

/** What was sent was received, each once, and from one to another in the order it was sent. */
async function judgeMessages({ store, witness }: Court): Promise<void> {
  const seen = new Map<string, string[]>();
  const orders = {
    "message.sent": new Map<string, string[]>(),
    "message.received": new Map<string, string[]>(),
  };
  for (const session of witness.sessions) {
    const openedSeq = witness.openings.get(session) ?? 0;
    for (const record of await recordsOf(store, session)) {
      const { type, body, session: owner } = record;
      if (owner !== session || (type !== "message.sent" && type !== "message.received")) continue;
      if (isCarried(record, openedSeq)) continue;
      const { message, to = session, from = session } = JSON.parse(body) as Mail;
      const pair = `${from} to ${to}`;
      orders[type].set(pair, [...(orders[type].get(pair) ?? []), message]);
      seen.set(message, [...(seen.get(message) ?? []), type]);
    }
  }
  for (const [pair, sent] of orders["message.sent"])
    if (orders["message.received"].get(pair)?.join(" ") !== sent.join(" "))
      witness.blame("order", `messages from ${pair} did not come in the order they were sent`);
  for (const [message, times] of seen) {
    if (times.toSorted().join(" ") !== "message.received message.sent")
      witness.blame("inputs", `the message ${message} stands in the logs as ${times.join(", ")}`);
  }
}
