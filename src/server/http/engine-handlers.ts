/** Calls of an engine that do more over HTTP than in the library. */
import type { OpenOptions } from "../../core/session/commands.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { readChunks } from "../../runtime/read/content.ts";
import { need, needAllowed, needPublic, type OperationCall, type Handlers } from "./invocation.ts";
import { readFeed } from "../stream/feed-cursor.ts";
import { needMachine, needOwn } from "../auth/machine-scope.ts";
import { ProblemError } from "./problem.ts";
import { whereTo } from "../../runtime/read/move-target.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { SessionEvent } from "../../core/event.ts";

type Opening = OpenOptions & { readonly objective: string };

/** The engine reports it too, but without the field. */
function needObjective({ objective, from }: OpenOptions): void {
  if (objective === undefined ? from !== undefined : objective.trim() !== "") return;
  const hint = "state the session's goal in a sentence";
  throw new ProblemError(makeProblem("invalid", "open: objective: missing", { hint, field: "objective" }));
}

export const engineHandlers: Handlers = {
  "engine.open": async (call, params) => {
    needObjective(params);
    needMachine(call, params);
    if (params.from !== undefined) await needOwn(call, await call.engine.session(params.from));
    return call.engine.open(params as Opening);
  },
  "engine.session": async (call) => show(call),
  "engine.delete": ({ engine, id }, params) => engine.delete(id, params),
  "engine.export": async (call, params) => call.engine.export((await call.session()).id, params),
  "engine.import": ({ engine, bytes }, params) => engine.import(bytes(), params),
  "engine.migrate": async (call, params) => {
    needAllowed(call, "to");
    return call.engine.migrate(params);
  },
  "engine.putBlob": async ({ engine, bytes }) => ({ hash: await engine.putBlob(bytes()) }),
  "engine.blob": async ({ engine }, { hash }) => readChunks(internalsOf(engine).store, hash),
  "engine.setPolicy": async (call, { name, policy, ...rest }) => {
    if (policy.do === "delete" || (await deletes(call, name))) need(call, "admin", "a policy that deletes");
    return call.engine.setPolicy(name, policy, rest);
  },
  "engine.removePolicy": async (call, { name }) => {
    if (await deletes(call, name)) need(call, "admin", "a policy that deletes");
    return call.engine.removePolicy(name);
  },
  "engine.runTickets": async ({ engine }, { plan, ...rest }) =>
    (await import("../../tickets/tickets.ts")).runPlan(engine, plan, rest),
  "engine.tickets": async ({ engine }, { plan }) =>
    (await import("../../tickets/tickets.ts")).listTickets(engine, plan),
  "engine.findTranscripts": ({ transcripts, engine }, params) => transcripts.find(params, engine),
  "engine.previewTranscript": ({ transcripts, engine }, { key }) => transcripts.preview(key, engine),
  "engine.importTranscripts": ({ transcripts, engine }, params) => transcripts.import(engine, params),
  "engine.uploadTranscript": ({ transcripts, engine, bytes }, params) =>
    transcripts.upload(engine, bytes(), params),
  "engine.feed": ({ engine }, params) => readFeed(engine, params),
  "engine.query": ({ engine, gone }, { sql }) => engine.query(sql, { signal: gone() }),
  "engine.anchor": async (call, { url }) => {
    if (url === undefined) return call.engine.anchor();
    needPublic(call, url);
    return call.engine.anchor({ url, allowPrivate: call.privateHooks });
  },
  "engine.setHook": async (call, { name, url, ...rest }) => {
    needPublic(call, url);
    return call.engine.setHook(name, url, rest);
  },
};

/** True when the policy of this name deletes sessions, as far as this program knows. */
async function deletes({ engine }: OperationCall, name: string): Promise<boolean> {
  const entry = (await engine.policies()).find((one) => one.name === name);
  return entry !== undefined && (entry.policy === null || entry.policy.do === "delete");
}

/** The number of events that `show` includes. */
const lastEvents = 8;

/** A session on one screen. */
async function show(call: OperationCall): Promise<unknown> {
  const { store } = internalsOf(call.engine);
  const session = await call.session();
  const state = await session.state();
  const { seq, hash } = await session.head();
  const copy = (await store.head(session.id))?.copy === true;
  const movedTo = state.status === "moved" ? await whereTo(store, session.id, await session.fold()) : null;
  const events: SessionEvent[] = [];
  for await (const event of session.events({ reverse: true, limit: lastEvents })) events.unshift(event);
  const forks = await store.forks(session.id);
  return { id: session.id, ...state, copy, movedTo, head: { seq, hash }, forks, events };
}
