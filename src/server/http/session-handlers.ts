/** What becomes of the calls of a session. */
import type { OperationId, ParamsOf } from "../../call/operations.ts";
import { Engine } from "../../runtime/engine/engine.ts";
import { positionIn } from "../stream/event-id.ts";
import { readEventsPage } from "../../runtime/read/event-reader.ts";
import { isSameMessage, reusedKey } from "../../runtime/log/same-change.ts";
import type { Session } from "../../runtime/engine/session.ts";
import {
  madeBy,
  need,
  needAllowed,
  needStores,
  sessionKept,
  type Call,
  type Handlers,
} from "./invocation.ts";
import { needMachine, needOwn, needReview } from "../auth/machine-scope.ts";

/** Those that only give a stream are in streams.ts. */
export type StreamCall = "session.ask" | "session.watch";
type SessionCall = Exclude<Extract<OperationId, `session.${string}`>, StreamCall>;
type Reads = Handlers<Extract<SessionCall, `session.${ReadName}`>>;
type ReadName =
  | "state"
  | "fold"
  | "items"
  | "load"
  | "head"
  | "events"
  | "records"
  | "verify"
  | "lineage"
  | "diff"
  | "context"
  | "tools"
  | "contracts"
  | "triggers";

const made = ({ id }: Session) => ({ session: id });

const reads: Reads = {
  "session.state": async (call, params) => (await call.session()).state(params),
  "session.fold": async (call, params) => (await call.session()).fold(params),
  "session.items": async (call, params) => (await call.session()).items(params),
  "session.load": async (call, { place }) => {
    const view = await (await call.session()).load(place);
    return { session: view.session.id, seq: view.seq };
  },
  "session.head": async (call) => (await call.session()).head(),
  "session.events": (call, params) => eventsPage(call, params),
  "session.records": async (call) => lines(await call.session()),
  "session.verify": async (call, params) => (await call.session()).verify(params),
  "session.lineage": async (call) => (await call.session()).lineage(),
  "session.diff": async (call, { from, to, ...rest }) => (await call.session()).diff(from, to, rest),
  "session.context": async (call, params) => (await call.session()).context(params),
  "session.tools": async (call) => (await call.session()).tools(),
  "session.contracts": async (call) => (await call.session()).contracts(),
  "session.triggers": async (call) => (await call.session()).triggers(),
};

export const sessionHandlers: Handlers<SessionCall> = {
  ...reads,
  "session.append": async (call, { records }) => (await call.session()).append(records, call.keyed),
  "session.input": async (call, { input, ...rest }) =>
    (await call.session()).input(input, { ...rest, ...call.keyed }),
  "session.run": async (call) => (await call.session()).run(),
  "session.answer": async (call, params) => {
    // Who may only write says what a session does: a call that a rule holds back for a person waits for more.
    if (params.allow) need(call, "operate", "allowing a call");
    return (await call.session()).answer(params);
  },
  "session.send": async (call, { to, message, ...rest }) => {
    if (rest.at !== undefined) {
      need(call, "operate", "a message to another store");
      needAllowed(call, "at");
    }
    const session = await sessionKept(call);
    const sent = await session.send(to, message, { ...rest, ...call.keyed });
    if (call.keyed.key === undefined) return sent;
    const place = { session: session.id, seq: sent.seq };
    if (await isSameMessage(Engine.depsOf(call.engine), place, { to, message, ...rest })) return sent;
    throw reusedKey();
  },
  "session.contract": async (call, { topic, schema }) => (await call.session()).contract(topic, schema),
  "session.record": async (call, { kind, key, value, ...rest }) =>
    (await call.session()).record(kind, key, value, { ...rest, ...call.keyed }),
  "session.retract": async (call, { kind, key, ...rest }) => (await call.session()).retract(kind, key, rest),
  "session.promote": async (call, { kind, key, ...rest }) => {
    need(call, "read", "promoting, which gives the item,");
    return (await call.session()).promote(kind, key, rest);
  },
  "session.scratch": async (call, { key, value }) => (await call.session()).scratch(key, value),
  "session.compress": async (call, params) => (await call.session()).compress(params),
  "session.handoff": async (call, params) => {
    need(call, "read", "a handoff, which tells what the session did,");
    return (await call.session()).handoff(params);
  },
  "session.score": async (call, { name, value, ...rest }) => (await call.session()).score(name, value, rest),
  "session.save": async (call, { name, ...rest }) => (await call.session()).save(name, rest),
  "session.fork": async (call, params) => {
    if (params.files !== undefined) need(call, "operate", "a copy of files of the machine");
    const session = await call.session();
    await needOwn(call, session);
    return made(await session.fork(params));
  },
  "session.rewind": async (call, { place, ...rest }) => {
    if (rest.files === true) need(call, "read", "putting files back, which names them,");
    return (await call.session()).rewind(place, rest);
  },
  "session.clear": async (call, params) => madeBy(call, await (await call.session()).clear(params)),
  "session.merge": async (call, params) => {
    need(call, "read", "a merge, which tells what comes in,");
    return (await call.session()).merge(params);
  },
  "session.migrate": async (call, params) => {
    if (params.to !== undefined) {
      need(call, "admin", "moving a session to another store");
      needStores(call, "to");
    }
    return (await call.session()).migrate(params);
  },
  "session.replay": async (call, params) => {
    if (params.from !== undefined) need(call, "write", "running turns again");
    return (await call.session()).replay(params);
  },
  "session.activate": async (call, params) => {
    const session = await call.session();
    await needReview(call, session);
    return session.activate(params);
  },
  "session.suspend": async (call, params) => (await call.session()).suspend(params),
  "session.interrupt": async (call, params) => (await call.session()).interrupt(params),
  "session.reopen": async (call, params) => (await call.session()).reopen(params),
  "session.archive": async (call, params) => (await call.session()).archive(params),
  "session.cancel": async (call, params) => (await call.session()).cancel(params),
  "session.close": async (call, params) => (await call.session()).close(params),
  "session.sleep": async (call, params) => (await call.session()).sleep(params),
  "session.rename": async (call, { name }) => (await call.session()).rename(name),
  "session.label": async (call, { set, ...rest }) => (await call.session()).label(set, rest),
  "session.prioritize": async (call, { priority }) => (await call.session()).prioritize(priority),
  "session.bind": async (call, params) => {
    needMachine(call, { bind: [params] });
    return (await call.session()).bind(params);
  },
  "session.unbind": async (call, { name }) => (await call.session()).unbind(name),
  "session.grant": async (call, params) => (await call.session()).grant(params),
  "session.budget": async (call, { limits, ...rest }) => (await call.session()).budget(limits, rest),
  "session.trigger": async (call, { name, spec, ...rest }) =>
    (await call.session()).trigger(name, spec, rest),
  "session.untrigger": async (call, { name }) => (await call.session()).untrigger(name),
  "session.fire": async (call, { name, ...rest }) => (await call.session()).fire(name, rest),
  "session.hold": async (call, { name, ...rest }) => (await call.session()).hold(name, rest),
  "session.lift": async (call, { name, ...rest }) => (await call.session()).lift(name, rest),
  "session.erase": async (call, params) => (await call.session()).erase(params),
};

const pageUsual = 100;

/** A page of events, and where the next one starts. */
async function eventsPage(call: Call, params: ParamsOf<"session.events">): Promise<unknown> {
  const { after, follow: _follow, deltas: _deltas, limit: count = pageUsual, ...rest } = params;
  const { engine } = call;
  const session = await call.session();
  const last = await positionIn({ engine, session }, after, "after");
  const from = last === undefined ? {} : { fromSeq: Math.max(last.seq + 1, rest.fromSeq ?? 1) };
  return readEventsPage(Engine.depsOf(engine).store, session.id, { ...rest, ...from, limit: count });
}

async function* lines(session: Session): AsyncGenerator<Uint8Array> {
  for await (const record of session.records()) yield Buffer.from(`${JSON.stringify(record)}\n`);
}
