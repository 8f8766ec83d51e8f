/**
 * A framework on one of the drawers, which goes on where its store says. With a number the process kills
 * itself at that append of the store: on entry, or with `after` once it is durable. It prints what it has in
 * the end, and the number of appends.
 */
import { keepAdkSessions, type AdkEvent, type AdkSession } from "../../src/adapter/google-adk/google-adk.ts";
import { SkeinSessionStore, type ClaudeSessionEntry } from "../../src/adapter/claude-sdk/claude-sdk.ts";
import { openEngine, type Engine } from "../../src/index.ts";
import { dieAt } from "./dying.ts";

const [what = "", path = "", killAt = "0", when = "before", name = ""] = process.argv.slice(2);

/** The class of the kit, as far as a runner needs it: `appendEvent` changes the caller's session. */
abstract class Kit {
  abstract createSession(request: object): Promise<AdkSession>;
  abstract getSession(request: object): Promise<AdkSession | undefined>;
  async appendEvent({ event }: { session: AdkSession; event: AdkEvent }): Promise<AdkEvent> {
    return event;
  }
}

const key = { appName: "app", userId: "ann", sessionId: "killed" };
const eventsMax = 4;

/** A runner that appends the events that are not there yet. */
async function adk(engine: Engine): Promise<unknown> {
  const service = keepAdkSessions(Kit, engine);
  const find = () => service.getSession(key);
  // Another process may create it at the same moment.
  const create = () => service.createSession({ ...key, state: { n: 0 } }).catch(find);
  const session = (await find()) ?? (await create());
  if (session === undefined) throw new Error("expected a session");
  for (let n = 1; n <= eventsMax; n++) {
    const id = `${name}e${n}`;
    if (session.events.some((event) => event.id === id)) continue;
    const stateDelta = { n, [`app:${name}n`]: n, "user:n": n, "temp:n": n };
    await service.appendEvent({ session, event: { id, timestamp: n, actions: { stateDelta } } });
  }
  const { events, state } = (await service.getSession(key)) ?? { events: [], state: {} };
  return { events: events.map(({ id }) => id), state };
}

const transcript = { projectKey: "-work", sessionId: "00000000-0000-4000-8000-000000000001" };
const agent = { ...transcript, subpath: "subagents/agent-1" };
const entry = (id: string): ClaudeSessionEntry => ({ type: "user", uuid: `${name}${id}`, text: "a\0b" });
/** The second is more than a record can hold, and one that a fork would write at once. */
const batches = [
  [transcript, [entry("1"), entry("2")]],
  [agent, Array.from({ length: 1_200 }, (_, n) => entry(`a${n}`))],
  [transcript, [entry("2"), { ...entry("3"), image: "x".repeat(1_300_000) }]],
  [agent, [entry("last")]],
] as const;

/** A mirror that does not know what arrived, and sends all of it again. */
async function claude(engine: Engine): Promise<unknown> {
  const store = new SkeinSessionStore(engine);
  for (const [of, entries] of batches) await store.append(of, entries);
  const ids = async (of: typeof agent | typeof transcript) =>
    (await store.load(of))?.map(({ uuid }) => uuid) ?? [];
  return { main: await ids(transcript), agent: await ids(agent), sub: await store.listSubkeys(transcript) };
}

/** A transcript that is written and deleted again, and its subagents'. */
async function claudeDelete(engine: Engine): Promise<unknown> {
  const store = new SkeinSessionStore(engine);
  if ((await store.load({ ...transcript, sessionId: "done" })) === null) {
    await store.append(transcript, [entry("1")]);
    await store.append(agent, [{ ...entry("2"), text: "canary-of-the-agent" }]);
    await store.append({ ...transcript, sessionId: "done" }, [entry("1")]);
  }
  await store.delete(agent);
  const before = { main: await store.load(transcript), agent: await store.load(agent) };
  await store.delete(transcript);
  return { ...before, after: await store.load(transcript) };
}

const runs: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = { adk, claude, claudeDelete };
await using engine = await openEngine({ store: path });
const appends = dieAt(engine, Number(killAt), when);
const result = await runs[what]?.(engine);
console.log(JSON.stringify({ result, appends: appends() }));
