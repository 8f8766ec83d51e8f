/** What becomes of the calls of an engine. */
import type { OpenOptions } from "../../core/command.ts";
import type { OperationId } from "../../call/operations.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { readChunks } from "../../runtime/read/content.ts";
import { Engine } from "../../runtime/engine/engine.ts";
import type { Event } from "../../runtime/read/event-reader.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { madeBy, need, needPublic, needStores, type Call, type Handlers } from "./invocation.ts";
import { readFeed } from "../stream/feed-cursor.ts";
import { needMachine, needOwn } from "../auth/machine-scope.ts";
import { ProblemError } from "./problem.ts";
import { whereTo } from "../../runtime/read/moved.ts";

type EngineCall = Extract<OperationId, `engine.${string}`>;
type Opening = OpenOptions & { readonly objective: string };

const made = ({ id }: Session) => ({ session: id });

/** The engine says so too, but not of which field. */
function needObjective({ objective, from }: OpenOptions): void {
  if (objective === undefined ? from !== undefined : objective.trim() !== "") return;
  const hint = "say in a sentence what it is for";
  throw new ProblemError(
    makeProblem("invalid", "open: a session needs an objective", { hint, field: "objective" }),
  );
}

export const engineHandlers: Handlers<EngineCall> = {
  "engine.open": async (call, params) => {
    needObjective(params);
    needMachine(call, params);
    if (params.from !== undefined) await needOwn(call, await call.engine.session(params.from));
    return madeBy(call, await call.engine.open(params as Opening));
  },
  "engine.session": async (call) => show(call),
  "engine.sessions": ({ engine }, params) => engine.sessions(params),
  "engine.delete": ({ engine, id }, params) => engine.delete(id, params),
  "engine.lineage": ({ engine }, { session }) => engine.lineage(session),
  "engine.export": async (call, params) => {
    if (params.move === true) need(call, "admin", "moving a session away");
    return call.engine.export((await call.session()).id, params);
  },
  "engine.import": ({ engine, bytes }, params) => engine.import(bytes(), params),
  "engine.migrate": async (call, params) => {
    needStores(call, "to");
    return call.engine.migrate(params);
  },
  "engine.send": ({ engine, keyed }, { to, message, ...rest }) =>
    engine.send(to, message, { ...rest, ...keyed }),
  "engine.deliver": ({ engine }) => engine.deliver(),
  "engine.putBlob": async ({ engine, bytes }) => ({ hash: await engine.putBlob(bytes()) }),
  "engine.blob": async ({ engine }, { hash }) => readChunks(Engine.depsOf(engine).store, hash),
  "engine.addAgent": ({ engine }, params) => engine.addAgent(params),
  "engine.agents": ({ engine }) => engine.agents(),
  "engine.agent": ({ engine }, { name, ...rest }) => engine.agent(name, rest),
  "engine.memory": ({ engine }, params) => engine.memory(params),
  "engine.remember": ({ engine }, params) => engine.remember(params),
  "engine.forget": async (call, params) => {
    need(call, "read", "forgetting, which gives the entry,");
    if (params.erase === true) need(call, "admin", "erasing");
    return call.engine.forget(params);
  },
  "engine.setPolicy": async (call, { name, policy, ...rest }) => {
    if (policy.do === "delete" || (await deletes(call, name))) need(call, "admin", "a policy that deletes");
    return call.engine.setPolicy(name, policy, rest);
  },
  "engine.removePolicy": async (call, { name }) => {
    if (await deletes(call, name)) need(call, "admin", "a policy that deletes");
    return call.engine.removePolicy(name);
  },
  "engine.approvals": ({ engine }) => engine.approvals(),
  "engine.revokeApproval": ({ engine }, { name }) => engine.revokeApproval(name),
  "engine.policies": ({ engine }) => engine.policies(),
  "engine.retain": ({ engine }, params) => engine.retain(params),
  "engine.trigger": ({ engine }, { name, spec, ...rest }) => engine.trigger(name, spec, rest),
  "engine.untrigger": ({ engine }, { name }) => engine.untrigger(name),
  "engine.triggers": ({ engine }) => engine.triggers(),
  "engine.fire": async ({ engine }, { name, ...rest }) => made(await engine.fire(name, rest)),
  "engine.runTickets": ({ engine }, { plan, ...rest }) => engine.runTickets(plan, rest),
  "engine.tickets": ({ engine }, { plan }) => engine.tickets(plan),
  "engine.feed": ({ engine }, params) => readFeed(engine, params),
  "engine.cost": ({ engine }, params) => engine.cost(params),
  "engine.search": ({ engine }, { text, ...rest }) => engine.search(text, rest),
  "engine.query": ({ engine, gone }, { sql }) => engine.query(sql, { signal: gone() }),
  "engine.verify": ({ engine }, params) => engine.verify(params),
  "engine.anchor": async (call, { url }) => {
    if (url === undefined) return call.engine.anchor();
    needPublic(call, url);
    return call.engine.anchor({ url, allowPrivate: call.privateHooks });
  },
  "engine.acceptAnchor": ({ engine }, params) => engine.acceptAnchor(params),
  "engine.scan": ({ engine }, params) => engine.scan(params),
  "engine.rebuild": ({ engine }) => engine.rebuild(),
  "engine.workers": ({ engine }) => engine.workers(),
  "engine.stats": ({ engine }) => engine.stats(),
  "engine.addToken": ({ engine }, params) => engine.addToken(params),
  "engine.tokens": ({ engine }, params) => engine.tokens(params),
  "engine.setHook": async (call, { name, url, ...rest }) => {
    needPublic(call, url);
    return call.engine.setHook(name, url, rest);
  },
  "engine.hooks": ({ engine }) => engine.hooks(),
  "engine.removeHook": ({ engine }, { name, ...rest }) => engine.removeHook(name, rest),
  "engine.revokeToken": ({ engine }, { token, ...rest }) => engine.revokeToken(token, rest),
};

/** Whether the policy of this name deletes sessions, as far as this program can tell. */
async function deletes({ engine }: Call, name: string): Promise<boolean> {
  const entry = (await engine.policies()).find((one) => one.name === name);
  return entry !== undefined && (entry.policy === null || entry.policy.do === "delete");
}

/** Events that a session is shown with. */
const lastEvents = 8;

/** A session on one screen. */
async function show(call: Call): Promise<unknown> {
  const { store } = Engine.depsOf(call.engine);
  const session = await call.session();
  const state = await session.state();
  const { seq, hash } = await session.head();
  const copy = (await store.head(session.id))?.copy === true;
  const movedTo = state.status === "moved" ? await whereTo(store, session.id, await session.fold()) : null;
  const events: Event[] = [];
  for await (const event of session.events({ reverse: true, limit: lastEvents })) events.unshift(event);
  const forks = await store.forks(session.id);
  return { id: session.id, ...state, copy, movedTo, head: { seq, hash }, forks, events };
}
