/**
 * The audit after a crash test of turns: the log, held against the witness and the plan. It says all that is
 * wrong, and what became of each call.
 */
import { hash } from "node:crypto";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { witnessOf, type Place } from "./turn-place.ts";
import type { PlannedCall } from "./turn-script.ts";
import type { ModelLine, ToolLine } from "./turn-witness.ts";
import type { SessionEvent } from "../../src/core/event.ts";

export interface TurnAudit {
  readonly problems: readonly string[];
  readonly turns: number;
  readonly calls: readonly CallStory[];
  /** How often the model was asked, by the log and by its own word. */
  readonly requested: number;
  readonly asked: number;
}

/** What became of one call. */
export interface CallStory {
  readonly tool: string;
  readonly mark: string;
  readonly status: string;
  /** How often it was started by the log, began and ended by its own word. */
  readonly started: number;
  readonly began: number;
  readonly ended: number;
}

/** A record whose body is taken to be what the catalogue says. */
interface Told extends Omit<SessionEvent, "body" | "content"> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly content: unknown;
}

type Amounts = { readonly tokens?: number; readonly nanoUsd?: number };

export async function auditTurns(engine: Engine, place: Place): Promise<TurnAudit> {
  const session = await engine.session(place.session);
  const events: Told[] = [];
  for await (const event of session.events()) events.push(event as never);
  const witness = witnessOf(place);
  const calls = callsOf(place, events, witness.tools());
  const models = witness.models().filter(({ say }) => say === "asked");
  const problems = [
    ...(await verifyProblems(session)),
    ...(await idleProblems(session, place, events)),
    ...calls.flatMap(callProblems),
    ...strangers(place, events, witness.tools()),
    ...planProblems(place, calls),
    ...(await chargeProblems(session, events, models)),
    ...(await contextProblems(session, events, models)),
    ...(await ownProblems(engine, session, place, events)),
  ];
  return {
    problems,
    turns: ofType(events, "turn.ended").length,
    calls: calls.map(({ tool, mark, status, started, began, ended }) => ({
      tool,
      mark,
      status,
      started,
      began,
      ended,
    })),
    requested: ofType(events, "model.requested").length,
    asked: models.length,
  };
}

const ofType = (events: readonly Told[], type: string): readonly Told[] =>
  events.filter((event) => event.type === type);

async function verifyProblems(session: Session): Promise<string[]> {
  const { ok, problems } = await session.verify();
  return ok ? [] : problems.map(({ seq, problem }) => `${seq}: ${problem}`);
}

/** Idle: no turn, no open call, nothing that waits, nothing reserved; and every turn was completed. */
async function idleProblems(session: Session, { plan }: Place, events: readonly Told[]): Promise<string[]> {
  const { standing, mind } = await session.fold();
  const found = {
    status: standing.status,
    turn: standing.turn,
    calls: mind.calls.size,
    waiting: standing.inbox.waiting.length,
    reserved: standing.reserved,
    lease: standing.lease.held,
    begun: ofType(events, "turn.started").length,
    ended: ofType(events, "turn.ended").map(({ body }) => body["outcome"] as string),
  };
  const expected = {
    status: "open",
    turn: null,
    calls: 0,
    waiting: 0,
    reserved: null,
    lease: false,
    begun: plan.length,
    ended: plan.map(() => "completed"),
  };
  const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
  return is === should ? [] : [`the session ends as ${is}, not as ${should}`];
}

interface Call extends CallStory {
  readonly seq: number;
  readonly effect: string;
  readonly settled: number;
  readonly input: Readonly<Record<string, unknown>>;
}

const keyOf = (session: string, seq: number): string => hash("sha256", `${session}\n${seq}`, "hex");

function callsOf(place: Place, events: readonly Told[], lines: readonly ToolLine[]): readonly Call[] {
  return ofType(events, "tool.requested").map(({ seq, body, content }): Call => {
    const about = (type: string) => ofType(events, type).filter(({ cause }) => cause === seq);
    const settled = about("tool.settled").filter(({ body: one }) => one["late"] !== true);
    const said = lines.filter(({ key }) => key === keyOf(place.session, seq));
    const { input } = content as { readonly input: Call["input"] };
    return {
      tool: body["tool"] as string,
      mark: String(input["mark"] ?? input["key"] ?? input["text"] ?? input["objective"]),
      status: settled.map((one) => one.body["status"] as string).join(" and "),
      started: about("tool.started").length,
      began: said.filter(({ say }) => say === "begin").length,
      ended: said.filter(({ say }) => say === "end").length,
      seq,
      effect: body["effect"] as string,
      settled: settled.length,
      input,
    };
  });
}

function callProblems({ tool, mark, effect, status, settled, started, began, ended }: Call): string[] {
  const name = `${tool} ${mark}`;
  const problems: string[] = [];
  if (settled !== 1) problems.push(`${name} was settled ${settled} times`);
  if (began > started) problems.push(`${name} ran ${began} times and was started ${started} times`);
  if (effect === "unsafe" && began > 1) problems.push(`${name} is unsafe and ran ${began} times`);
  if (status !== "ok" && !(effect === "unsafe" && status === "unknown"))
    problems.push(`${name} ended as ${status}`);
  if (status === "ok" && effect !== "session" && ended === 0) problems.push(`${name} is ok and never ran`);
  return problems;
}

/** Lines of the witness that belong to no call of the log: what ran without its intent being written down. */
function strangers(place: Place, events: readonly Told[], lines: readonly ToolLine[]): string[] {
  const known = new Set(ofType(events, "tool.requested").map(({ seq }) => keyOf(place.session, seq)));
  return lines.filter(({ key }) => !known.has(key)).map(({ tool, mark }) => `${tool} ${mark} ran unasked`);
}

const nameOf = ({ tool, input }: PlannedCall): string => `${tool} ${JSON.stringify(input)}`;

function planProblems({ plan }: Place, calls: readonly Call[]): string[] {
  const planned = plan.flat(2).map(nameOf).toSorted();
  const asked = calls.map(nameOf).toSorted();
  return JSON.stringify(planned) === JSON.stringify(asked)
    ? []
    : [`planned were ${planned.join(", ")}; asked for were ${asked.join(", ")}`];
}

/** Nothing that the model charged is missing, and what was never answered counts as reserved. */
async function chargeProblems(
  session: Session,
  events: readonly Told[],
  models: readonly ModelLine[],
): Promise<string[]> {
  const { used } = (await session.fold()).standing;
  const spent = { tokens: 0, nanoUsd: 0 };
  const add = ({ tokens = 0, nanoUsd = 0 }: Amounts): void => {
    spent.tokens += tokens;
    spent.nanoUsd += nanoUsd;
  };
  for (const { seq, body } of ofType(events, "model.requested")) {
    const answer = ofType(events, "model.responded").find(({ cause }) => cause === seq);
    if (answer === undefined) add(body["reserved"] as Amounts);
    else {
      const { inputTokens, outputTokens } = answer.body["usage"] as Record<string, number>;
      add({
        tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
        nanoUsd: answer.body["costNanoUsd"] as number,
      });
    }
  }
  const charged = {
    tokens: models.reduce((sum, { tokens }) => sum + tokens, 0),
    nanoUsd: models.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0),
  };
  const problems: string[] = [];
  for (const resource of ["tokens", "nanoUsd"] as const) {
    if (used[resource] !== spent[resource])
      problems.push(`${used[resource]} ${resource} are used, and the log has ${spent[resource]}`);
    if (used[resource] < charged[resource])
      problems.push(`${used[resource]} ${resource} are used, and the model charged ${charged[resource]}`);
  }
  return problems;
}

/** Every context is rebuilt, grows at its end, and is what the model was given; no other ever was. */
async function contextProblems(
  session: Session,
  events: readonly Told[],
  models: readonly ModelLine[],
): Promise<string[]> {
  const problems: string[] = [];
  const left = models.map(({ context }) => context);
  let before = "[";
  for (const { seq, body } of ofType(events, "model.requested")) {
    const { matches, parts } = await session.context({ atSeq: seq });
    if (matches !== true) problems.push(`the context of the request at ${seq} is not the one it names`);
    const text = JSON.stringify(parts);
    if (!text.startsWith(before)) problems.push(`the context of the request at ${seq} does not only grow`);
    before = text.slice(0, -1);
    const place = left.indexOf(body["context"] as string);
    if (place !== -1) left.splice(place, 1);
  }
  return [...problems, ...left.map((context) => `the model was given ${context}, which no request names`)];
}

/** Items, scratch, messages and forks: each that was planned is there, once. */
async function ownProblems(
  engine: Engine,
  session: Session,
  { plan, receiver }: Place,
  events: readonly Told[],
): Promise<string[]> {
  const calls = plan.flat(2);
  const planned = (tool: string, field: string): string[] =>
    calls
      .filter((call) => call.tool === tool)
      .map(({ input }) => String(input[field]))
      .toSorted();
  const state = await session.state();
  const received: string[] = [];
  for await (const event of (await engine.session(receiver)).events({ types: ["message.received"] }))
    if ((event.body as { from?: string }).from === session.id) received.push(textOf(event as never));
  const forks = (await engine.sessions({ limit: 500 })).rows.filter(
    ({ parent }) => parent?.session === session.id,
  );
  const given = ofType(events, "budget.allotted").map(({ body }) => body["session"] as string);
  const pairs: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ["items", state.items.map(({ key }) => key), planned("record", "key")],
    ["scratch", Object.keys(state.scratch), planned("scratch", "key")],
    ["messages sent", ofType(events, "message.sent").map(textOf), planned("send", "text")],
    ["messages received", received, planned("send", "text")],
    ["forks", forks.map(({ objective }) => objective ?? ""), planned("fork", "objective")],
    ["allotments", given, forks.map((fork) => fork.session)],
    [
      "items recorded",
      ofType(events, "item.recorded").map(({ body }) => body["key"] as string),
      planned("record", "key"),
    ],
  ];
  return pairs.flatMap(([what, is, should]) => {
    const [found, expected] = [is.toSorted().join(", "), should.toSorted().join(", ")];
    return found === expected ? [] : [`${what} are ${found}; planned were ${expected}`];
  });
}

const textOf = ({ content }: Told): string =>
  (content as { readonly blocks: readonly { readonly text: string }[] }).blocks[0]?.text ?? "";
