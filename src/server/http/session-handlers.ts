/** Calls of a session that do more over HTTP than in the library. */
import { positionIn } from "../stream/event-id.ts";
import { readEventsPage } from "../../runtime/read/event-reader.ts";
import { isSameMessage, reusedKey } from "../../runtime/log/same-change.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { ParamsOf } from "../../call/operations.ts";
import { needAllowed, sessionKept, type OperationCall, type Handlers } from "./invocation.ts";
import { needMachine, needOwn, needReview } from "../auth/machine-scope.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export const sessionHandlers: Handlers = {
  "session.load": async (call, { place }) => {
    const view = await (await call.session()).load(place);
    return { session: view.session.id, seq: view.seq };
  },
  "session.events": (call, params) => eventsPage(call, params),
  "session.records": async (call) => lines(await call.session()),
  "session.send": async (call, { to, message, ...rest }) => {
    if (rest.at !== undefined) needAllowed(call, "at");
    const session = await sessionKept(call);
    const sent = await session.send(to, message, { ...rest, ...call.keyed });
    if (call.keyed.key === undefined) return sent;
    const place = { session: session.id, seq: sent.seq };
    if (await isSameMessage(internalsOf(call.engine), place, { to, message, ...rest })) return sent;
    throw reusedKey();
  },
  "session.fork": async (call, params) => {
    const session = await call.session();
    await needOwn(call, session);
    return session.fork(params);
  },
  "session.migrate": async (call, params) => {
    if (params.to !== undefined) needAllowed(call, "to");
    return (await call.session()).migrate(params);
  },
  "session.activate": async (call, params) => {
    const session = await call.session();
    await needReview(call, session);
    return session.activate(params);
  },
  "session.bind": async (call, params) => {
    needMachine(call, { bind: [params] });
    return (await call.session()).bind(params);
  },
};

const pageUsual = 100;

/** A page of events, and the position of the next one. */
async function eventsPage(call: OperationCall, params: ParamsOf<"session.events">): Promise<unknown> {
  const { after, follow: _follow, deltas: _deltas, limit: count = pageUsual, ...rest } = params;
  const { engine } = call;
  const session = await call.session();
  const last = await positionIn({ engine, session }, after, "after");
  const from = last === undefined ? {} : { fromSeq: Math.max(last.seq + 1, rest.fromSeq ?? 1) };
  return readEventsPage(internalsOf(engine).store, session.id, { ...rest, ...from, limit: count });
}

async function* lines(session: Session): AsyncGenerator<Uint8Array> {
  for await (const record of session.records()) yield Buffer.from(`${JSON.stringify(record)}\n`);
}
