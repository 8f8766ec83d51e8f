/**
 * Generated histories: lives that a session could have led, made of every event type, with rewinds into any
 * earlier position and forks from one. Beside the log a model keeps, for each position, the set of inputs
 * that wait.
 */
import type { Command } from "../../src/core/command.ts";
import fc from "fast-check";
import type { SessionEventType } from "../../src/core/catalog.ts";
import type { StoredRecord } from "../../src/core/chain.ts";
import { decide } from "../../src/core/decide.ts";
import type { DraftEvent } from "../../src/core/decision.ts";
import { makeSessionId, type SessionId } from "../../src/core/ids.ts";
import { emptyState, mindForm, mindHash, type State } from "../../src/core/state.ts";
import { digest } from "./digest.ts";
import { facts, foldOne, seal, workspaceId } from "./given.ts";
import { otherSession, samples } from "./samples.ts";

/** What was rewound: where, and what the model says of it. */
export interface Rewound {
  readonly seq: number;
  readonly toSeq: number;
  /** Inputs that were taken up after `toSeq`, by their number. */
  readonly taken: ReadonlySet<number>;
}

export interface History {
  readonly session: SessionId;
  readonly records: readonly StoredRecord[];
  /** By position; 0 is the empty state. */
  readonly states: readonly State[];
  /** By position: the numbers of the inputs that wait. */
  readonly waiting: readonly ReadonlySet<number>[];
  readonly rewinds: readonly Rewound[];
  /** Of forks that this log goes through: the position of each `session.forked`. */
  readonly forks: readonly number[];
}

/** Each with its weight. */
const moveWeights = {
  input: 2,
  message: 1,
  turn: 2,
  request: 1,
  respond: 1,
  fail: 1,
  end: 2,
  tool: 1,
  approve: 1,
  start: 1,
  settle: 1,
  item: 2,
  retract: 1,
  pin: 1,
  scratch: 1,
  compact: 1,
  lift: 1,
  checkpoint: 1,
  rewind: 2,
  fork: 1,
  life: 2,
  free: 3,
} as const;
type MoveKind = keyof typeof moveWeights;

export interface Move {
  readonly kind: MoveKind;
  readonly pick: number;
  readonly also: number;
  readonly flag: boolean;
}

/** Without bias: a pick among few, often the first, would leave most of the log alone. */
const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.oneof(
    ...Object.entries(moveWeights).map(([kind, weight]) => ({
      weight,
      arbitrary: fc.constant(kind as MoveKind),
    })),
  ),
  pick: fc.noBias(fc.nat(10_000)),
  also: fc.noBias(fc.nat(10_000)),
  flag: fc.boolean(),
});

const moves = (lengthMax: number): fc.Arbitrary<Move[]> =>
  fc.array(move, { minLength: lengthMax >> 2, maxLength: lengthMax, size: "max" });
export const histories = (lengthMax: number): fc.Arbitrary<History> => moves(lengthMax).map(live);

interface Life {
  session: SessionId;
  records: StoredRecord[];
  states: State[];
  waiting: ReadonlySet<number>[];
  rewinds: Rewound[];
  forks: number[];
}

/** Leads the life that the moves describe. A move that makes no sense where it stands is a foreign record. */
function live(given: readonly Move[]): History {
  const life: Life = {
    session: idOf(0),
    records: [],
    states: [emptyState],
    waiting: [new Set()],
    rewinds: [],
    forks: [],
  };
  const { body, content } = samples["session.opened"];
  append(life, { type: "session.opened", body: { ...body, workspace: workspaceId }, content });
  for (const one of given) {
    if (one.also % 4 === 0) revive(life);
    if (!step(life, one)) append(life, { type: "x.rested", body: { pick: one.pick } });
  }
  return life;
}

/** Lives would be dull if most of them ended early. */
function revive(life: Life): void {
  const { status } = now(life).standing;
  if (status === "moved") append(life, { type: "session.arrived", ...samples["session.arrived"] });
  if (status === "closed" || status === "archived") obey(life, { do: "reopen" });
  if (status === "suspended") obey(life, { do: "activate" });
  if (status === "sleeping") obey(life, { do: "wake", by: "message" });
}

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: 1_700_000_000_000 + count, random: new Uint8Array(10) });

const now = (life: Life): State => life.states.at(-1)!;
const waits = (life: Life): ReadonlySet<number> => life.waiting.at(-1)!;

function append(life: Life, draft: DraftEvent, waiting: ReadonlySet<number> = waits(life)): void {
  const record = seal(life.session, draft, life.records.at(-1));
  life.states.push(foldOne(life.states, record));
  life.records.push(record);
  const number = isInput(record) ? [numberOf(record)] : [];
  life.waiting.push(waiting.union(new Set(number)));
}

/** True when the move was made. */
function step(life: Life, one: Move): boolean {
  const { kind } = one;
  if (kind === "rewind") return rewind(life, one);
  if (kind === "fork") return fork(life, one);
  if (kind === "life") return lifeCommands(one).some((command) => obey(life, command));
  if (kind === "free") return free(life, one);
  if (kind === "input" || kind === "message") return receive(life, kind);
  if (kind === "turn" || kind === "request" || kind === "respond" || kind === "fail" || kind === "end") {
    return runTurn(life, kind, one);
  }
  if (kind === "tool" || kind === "approve" || kind === "start" || kind === "settle") {
    return runTool(life, kind, one);
  }
  return work(life, kind, one);
}

function receive(life: Life, kind: "input" | "message"): boolean {
  const type = kind === "input" ? "input.received" : "message.received";
  const { body, content } = samples[type];
  append(life, { type, body: { ...body, input: now(life).standing.inbox.received + 1 }, content });
  return true;
}

function runTurn(life: Life, kind: "turn" | "request" | "respond" | "fail" | "end", one: Move): boolean {
  const { status, turn, reserved } = now(life).standing;
  if (kind === "turn" || turn === null) {
    if (status !== "open") return false;
    const { left, inputs } = takeSome(life, one);
    if (inputs.length > 0) append(life, { type: "context.retrieved", ...samples["context.retrieved"] });
    append(life, { type: "turn.started", body: { inputs } }, left);
    return true;
  }
  const draft = { turn: turn.number };
  if (kind === "request") {
    const { left, inputs } = takeSome(life, one);
    const body = { ...samples["model.requested"].body, inputs, attempt: 1 + (one.also % 2) };
    if (now(life).standing.plan === null)
      append(life, { type: "context.planned", ...samples["context.planned"], ...draft });
    append(
      life,
      { type: "model.requested", body, content: samples["model.requested"].content, ...draft },
      left,
    );
    return true;
  }
  if (kind === "end") {
    const body = {
      outcome: "completed",
      steps: turn.steps,
      mindForm,
      mindHash: mindHash(digest, now(life).mind),
    };
    append(life, { type: "turn.ended", body, ...draft });
    return true;
  }
  if (reserved === null) return runTurn(life, "request", one);
  const type = kind === "respond" ? "model.responded" : "model.failed";
  const costNanoUsd = one.flag ? one.pick : null;
  append(life, {
    type,
    body: { ...samples[type].body, costNanoUsd },
    content: samples[type].content,
    ...draft,
  });
  return true;
}

/** Some of the inputs that wait, in any order. */
function takeSome(life: Life, { pick, also, flag }: Move) {
  const all = ownInputs(life).filter((record) => waits(life).has(numberOf(record)));
  const chosen = flag ? all : all.filter((_, place) => ((pick + 1) * (place + 3) + also) % 3 === 0);
  const inputs = chosen.map((record): [number, number] => [record.seq, numberOf(record)]);
  const left = waits(life).difference(new Set(inputs.map(([, number]) => number)));
  return { left, inputs: pick % 2 === 0 ? inputs : inputs.toReversed() };
}

function runTool(life: Life, kind: "tool" | "approve" | "start" | "settle", one: Move): boolean {
  const turn = now(life).standing.turn?.number ?? 1;
  const calls = [...now(life).mind.calls.keys()];
  if (kind === "tool") {
    const effect = (["read", "idempotent", "unsafe", "session"] as const)[one.also % 4];
    const body = { call: `call_${one.pick % 5}`, tool: "files.read", effect, ask: one.flag };
    append(life, { type: "tool.requested", body, content: { input: one.also }, turn });
    return true;
  }
  const call = calls[one.pick % Math.max(1, calls.length)];
  if (call === undefined) return false;
  const status = (["ok", "error", "unknown", "skipped"] as const)[one.also % 4];
  const drafts: Readonly<Record<typeof kind, DraftEvent>> = {
    approve: { type: one.flag ? "tool.approved" : "tool.denied", body: { call } },
    start: { type: "tool.started", body: { call, attempt: 1 } },
    settle: { type: "tool.settled", body: { call, status }, content: { output: one.pick } },
  };
  append(life, { ...drafts[kind], turn });
  return true;
}

function work(
  life: Life,
  kind: "item" | "retract" | "pin" | "scratch" | "compact" | "lift" | "checkpoint",
  { pick, also, flag }: Move,
): boolean {
  const { seq, mind } = now(life);
  const itemKind = (["fact", "decision", "task", "artifact"] as const)[also % 4]!;
  const key = `k${pick % 6}`;
  switch (kind) {
    case "item":
      return obey(life, { do: "record", kind: itemKind, key, value: pick });
    case "retract": {
      const item = [...mind.items.values()][pick % Math.max(1, mind.items.size)];
      return item !== undefined && obey(life, { do: "retract", kind: item.kind, key: item.key });
    }
    case "pin": {
      const pins = [...mind.items.values()].filter((one) => flag || mind.pins.has(`${one.kind}/${one.key}`));
      const item = pins[pick % Math.max(1, pins.length)];
      const verb = flag ? "pin" : "unpin";
      return item !== undefined && obey(life, { do: verb, kind: item.kind, key: item.key });
    }
    case "scratch":
      return obey(life, flag ? { do: "scratch", key, value: pick } : { do: "scratch", key });
    case "checkpoint":
      return obey(life, { do: "save", name: key, atSeq: 1 + (also % seq) });
    case "lift": {
      const overlay = mind.overlays[pick % Math.max(1, mind.overlays.length)];
      if (overlay === undefined) return false;
      append(life, { type: "overlay.lifted", body: { overlay: overlay.seq } });
      return true;
    }
    case "compact": {
      if (mind.toSeq === 0) return false;
      const [a, b] = [1 + (pick % mind.toSeq), 1 + (also % mind.toSeq)];
      const body = {
        ...samples["transcript.compacted"].body,
        fromSeq: Math.min(a, b),
        toSeq: Math.max(a, b),
      };
      append(life, { type: "transcript.compacted", body, content: samples["transcript.compacted"].content });
      return true;
    }
  }
}

/** Lets the command be decided; false when it is refused. */
function obey(life: Life, command: Command): boolean {
  const decision = decide(now(life), command, facts);
  if (decision.ok) for (const draft of decision.drafts) append(life, draft);
  return decision.ok;
}

/** From the one that was picked on: the first that is not refused is obeyed. */
function lifeCommands({ pick, also, flag }: Move): readonly Command[] {
  const commands: readonly Command[] = [
    { do: "suspend", by: flag ? "budget" : "person" },
    { do: "activate" },
    { do: "sleep", untilMs: also },
    { do: "wake", by: "message" },
    { do: "interrupt" },
    { do: "close", outcome: "failed" },
    { do: "cancel" },
    { do: "archive" },
    { do: "reopen" },
    { do: "reopen" },
    { do: "take", holder: `h${also % 3}`, leaseMs: 1_000 + also, ranOut: flag },
    { do: "bind", kind: "file", path: `p${also % 2}` },
    { do: "unbind", name: `p${also % 2}` },
    { do: "grant", tool: `t${also % 4}`, rule: flag ? "ask" : "none" },
    { do: "label", set: { [`l${also % 4}`]: `v${pick}` } },
    { do: "rename", name: `n${also}` },
    { do: "prioritize", priority: also % 10 },
    { do: "budget", limits: { tokens: also } },
  ];
  const first = pick % commands.length;
  return [...commands.slice(first), ...commands.slice(0, first)];
}

/** Events that may come at any time, as their samples have them. */
const freeTypes: readonly SessionEventType[] = [
  "lease.released",
  "agent.pinned",
  "document.loaded",
  "memory.carried",
  "resource.bound",
  "resource.unbound",
  "resource.changed",
  "tools.bound",
  "contract.declared",
  "zone.crossed",
  "zone.acted",
  "handoff.written",
  "message.sent",
  "message.refused",
  "message.delivered",
  "trigger.set",
  "trigger.removed",
  "trigger.fired",
  "trigger.skipped",
  "budget.allotted",
  "budget.drawn",
  "budget.reached",
  "content.erased",
  "hold.set",
  "hold.lifted",
  "score.recorded",
  "session.amended",
  "checks.set",
  "check.ran",
  "source.imported",
  "input.imported",
  "answer.imported",
  "call.imported",
  "proxy.requested",
  "proxy.responded",
  "proxy.failed",
  "session.merged",
  "session.migrated",
  "session.moved",
  "session.arrived",
  "session.continued",
  "session.split",
  "request.inherited",
  "input.forwarded",
];

function free(life: Life, { pick, also }: Move): boolean {
  const type = freeTypes[pick % freeTypes.length]!;
  const { status } = now(life).standing;
  if (type === "session.moved" && status === "moved") return false;
  if (type === "session.arrived" && status !== "moved") return false;
  const body: Record<string, unknown> = { ...samples[type].body };
  if (type === "document.loaded") body["digest"] = digest("", String(also % 5));
  if (type === "session.merged") body["toSeq"] = also + 1;
  if (type === "content.erased") Object.assign(body, nothingErased(life, also));
  if (type === "message.sent") body["to"] = also % 2 === 0 ? otherSession : life.session;
  const { content } = samples[type];
  const drafted = content === undefined ? { type, body } : { type, body, content };
  // The queue of a session that continues elsewhere goes there.
  if (type === "session.continued") append(life, drafted, new Set());
  else append(life, drafted);
  return true;
}

/** Nothing is erased in these histories: what they say of it is about a position that has no content. */
function nothingErased({ records }: Life, also: number): object {
  const bare = records.filter(({ contentHash }) => contentHash === null);
  const seq = bare[also % Math.max(1, bare.length)]?.seq;
  return { ranges: seq === undefined ? [] : [[seq, seq]], records: 0, bytes: 0 };
}

function rewind(life: Life, { pick, flag }: Move): boolean {
  if (now(life).standing.status === "running") obey(life, { do: "suspend" });
  const state = now(life);
  const toSeq = 1 + (pick % state.seq);
  const earlier = life.states[toSeq]!;
  const decision = decide(state, { do: "rewind", earlier, requeue: flag }, facts);
  if (!decision.ok) return false;
  const taken = takenSince(life, toSeq);
  for (const draft of decision.drafts) {
    const rewound = draft.type === "session.rewound";
    if (rewound) life.rewinds.push({ seq: now(life).seq + 1, toSeq, taken });
    append(life, draft, rewound && flag ? waits(life).union(taken) : waits(life));
  }
  return true;
}

/** What waited at the position or came since, and waits no more. A fork never had its parent's inputs. */
function takenSince(life: Life, toSeq: number): ReadonlySet<number> {
  const before = toSeq < (life.forks.at(-1) ?? 0) ? new Set<number>() : life.waiting[toSeq]!;
  const since = ownInputs(life).filter(({ seq }) => seq > toSeq);
  return before.union(new Set(since.map(numberOf))).difference(waits(life));
}

const isInput = ({ type }: StoredRecord): boolean => /^(input|message)\.received$/.test(type);

/** The number of an input in the inbox. */
export const numberOf = ({ body }: StoredRecord): number => (JSON.parse(body) as { input: number }).input;

/** The inputs of a session itself, without those that its parent had. */
export const ownInputs = (life: Pick<History, "records" | "forks">): readonly StoredRecord[] =>
  life.records.filter((record) => isInput(record) && record.seq > (life.forks.at(-1) ?? 0));

/** The life goes on as a fork from an earlier position. */
function fork(life: Life, { pick, also, flag }: Move): boolean {
  const atSeq = 1 + (pick % now(life).seq);
  const state = life.states[atSeq]!;
  life.records = life.records.slice(0, atSeq);
  life.states = life.states.slice(0, atSeq + 1);
  life.waiting = life.waiting.slice(0, atSeq + 1);
  life.rewinds = life.rewinds.filter(({ seq }) => seq <= atSeq);
  life.forks = [...life.forks.filter((seq) => seq <= atSeq), atSeq + 1];
  life.session = idOf(life.forks.length + also);
  const parentHash = life.records.at(-1)!.hash;
  const command: Command = { do: "fork", parentHash, by: "person", ...(flag ? { objective: "o" } : {}) };
  const decision = decide(state, command, facts);
  for (const draft of decision.ok ? decision.drafts : []) append(life, draft, new Set());
  return decision.ok;
}
