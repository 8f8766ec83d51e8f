/** Requests below `/streams/v1/stream/__ds/`: subscriptions, and the key that signs calls of webhooks. */
import { hash } from "node:crypto";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { MountRequest } from "../../server/http/mount.ts";
import { seqOfOffset } from "./named-headers.ts";
import { readSettings, SubscriptionError, pathsIn } from "./subscription-input.ts";
import { isExpired, isPending, isSameSubscription, subscriptionTypes } from "./subscription-state.ts";
import type { StreamLink, StreamPlace, SubscriptionState } from "./subscription-state.ts";
import type { Subscription } from "./subscriptions.ts";
import { linkFields, tokenText, wakeIfPending, type WakeDeps } from "./subscription-wake.ts";
import { reply } from "./reply.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Route {
  readonly id: string;
  readonly action: string;
  /** The rest of the path, not decoded. */
  readonly rest: string;
}

const prefix = "/v1/stream/__ds";
const bodyBytesMax = 1_048_576;

/** Answers a request whose name begins with `__ds`. */
export function makeSubscriptionHandler(deps: WakeDeps) {
  return async (given: MountRequest): Promise<void> => {
    try {
      if (given.path === `${prefix}/jwks.json`) return sendKeys(given, deps);
      const route = routeOf(given.path);
      if (route === null) throw new SubscriptionError("SUBSCRIPTION_NOT_FOUND", "no such route");
      await answer(given, deps, route);
    } catch (error) {
      sendError(given, error);
    }
  };
}

/** For anyone: receivers have no token. */
function sendKeys(given: MountRequest, { push }: WakeDeps): void {
  if (given.request.method !== "GET" && given.request.method !== "HEAD")
    throw new SubscriptionError("METHOD_NOT_ALLOWED", "only GET is allowed here");
  const headers = { "content-type": "application/jwk-set+json", "cache-control": "public, max-age=300" };
  reply(given, 200, headers, JSON.stringify({ keys: push === null ? [] : [push.key] }));
}

function routeOf(path: string): Route | null {
  const [, id = "", action = "", rest = ""] =
    /^\/subscriptions\/([^/]+)(?:\/([a-z]+)(?:\/(.+))?)?$/.exec(path.slice(prefix.length)) ?? [];
  try {
    const text = decodeURIComponent(id);
    return text === "" || text.length > 200 ? null : { id: text, action, rest };
  } catch {
    return null;
  }
}

const statusCodes: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST",
  401: "TOKEN_INVALID",
  403: "FORBIDDEN",
  404: "SUBSCRIPTION_NOT_FOUND",
  409: "CONFLICT",
};

function sendError(given: MountRequest, error: unknown): void {
  if (error instanceof SubscriptionError) {
    const { status, code, message, more } = error;
    return reply(given, status, {}, JSON.stringify({ error: { code, message, ...more } }));
  }
  const problem = given.problemOf(error);
  const { status, detail, hint } = problem;
  const code = statusCodes[status] ?? problem.code.toUpperCase();
  const message = hint === undefined ? detail : `${detail} (${hint})`;
  reply(given, status, given.problemHeaders(problem), JSON.stringify({ error: { code, message } }));
}

async function answer(given: MountRequest, deps: WakeDeps, route: Route): Promise<void> {
  const { method = "GET" } = given.request;
  const call = `${method} ${route.action}`;
  if (call === "PUT ") return put(given, deps, route);
  if (call === "GET ") return get(given, deps, route);
  if (call === "DELETE ") return remove(given, deps, route);
  if (call === "POST streams" && route.rest === "") return link(given, deps, route);
  if (call === "DELETE streams" && route.rest !== "") return unlink(given, deps, route);
  if (route.rest === "") {
    if (call === "POST claim") return claim(given, deps, route);
    if (call === "POST callback") return settle(given, deps, { ...route, type: "webhook" });
    if (call === "POST ack") return settle(given, deps, { ...route, type: "pull-wake" });
    if (call === "POST release") return settle(given, deps, { ...route, type: "pull-wake" });
  }
  throw new SubscriptionError("METHOD_NOT_ALLOWED", `${method} is not allowed here`);
}

async function readBody(given: MountRequest): Promise<Fields> {
  const bytes = await given.readBytes(bodyBytesMax);
  try {
    const body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as unknown;
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Fields;
  } catch {
    // The same error as for another value.
  }
  throw new SubscriptionError("INVALID_REQUEST", "expected a JSON object as the body");
}

async function put(given: MountRequest, deps: WakeDeps, { id }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const settings = readSettings(id, await readBody(given), deps.push);
  const before = await deps.subscriptions.find(engine, id);
  const made = before === null ? await deps.subscriptions.create(engine, settings, given.url) : null;
  const found = made ?? before ?? (await there(deps, engine, id));
  if (!isSameSubscription(found.settings, settings))
    throw new SubscriptionError(
      "SUBSCRIPTION_ALREADY_EXISTS",
      "the subscription exists with another configuration",
    );
  reply(given, made === null ? 200 : 201, {}, JSON.stringify(await view(deps, engine, found)));
}

async function there({ subscriptions }: WakeDeps, engine: Engine, id: string): Promise<Subscription> {
  const found = await subscriptions.find(engine, id);
  if (found !== null) return found;
  throw new SubscriptionError("SUBSCRIPTION_NOT_FOUND", "there is no such subscription");
}

async function view(
  { subscriptions, push }: WakeDeps,
  engine: Engine,
  { state, settings }: Subscription,
): Promise<object> {
  const { id, type, pattern, url, wakeStream, leaseMs, description } = settings;
  const jwks = `${state.base}/streams${prefix}/jwks.json`;
  const signing = push === null ? {} : { signing: { alg: "ed25519", kid: push.key.kid, jwks_url: jwks } };
  const isFailing = state.wake !== null && !state.wake.isTaken && state.wake.attempts > 1;
  return {
    id,
    subscription_id: id,
    type,
    pattern,
    streams: (await subscriptions.links(engine, state)).map(linkFields),
    ...(url === null ? {} : { webhook: { url, ...signing } }),
    wake_stream: wakeStream,
    lease_ttl_ms: leaseMs,
    created_at: new Date(state.createdMs).toISOString(),
    status: isFailing || state.skipped.size > 0 ? "failed" : "active",
    description,
  };
}

async function get(given: MountRequest, deps: WakeDeps, { id }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "read" });
  const found = await there(deps, engine, id);
  reply(given, 200, {}, JSON.stringify(await view(deps, engine, found)));
}

async function remove(given: MountRequest, deps: WakeDeps, { id }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const found = await deps.subscriptions.find(engine, id);
  if (found !== null) await engine.delete(found.session.id, { reason: "the subscription was deleted" });
  reply(given, 204, {});
}

async function link(given: MountRequest, deps: WakeDeps, { id }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const paths = pathsIn((await readBody(given))["streams"]);
  const { session } = await there(deps, engine, id);
  await deps.subscriptions.change(engine, session.id, async ({ state }) => {
    const explicit = new Set([...state.explicit, ...paths]);
    const links = await deps.subscriptions.links(engine, { ...state, explicit });
    const before = new Set((await deps.subscriptions.links(engine, state)).map(({ path }) => path));
    const add: StreamPlace[] = links
      .filter(({ path }) => paths.includes(path) && !state.explicit.has(path))
      .map(({ path, session: of, ackedSeq, tailSeq }) => ({
        path,
        session: of,
        // What the pattern has linked already goes on where it is.
        seq: before.has(path) ? ackedSeq : tailSeq,
      }));
    if (add.length === 0) return [null];
    return [null, { type: subscriptionTypes.linked, content: { add, remove: [] } }];
  });
  reply(given, 204, {});
}

async function unlink(given: MountRequest, deps: WakeDeps, { id, rest }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const remove = pathsIn([decodeRest(rest)]);
  const { session } = await there(deps, engine, id);
  await deps.subscriptions.change(engine, session.id, async ({ state }) =>
    remove.some((path) => state.explicit.has(path))
      ? [null, { type: subscriptionTypes.linked, content: { add: [], remove } }]
      : [null],
  );
  reply(given, 204, {});
}

function decodeRest(rest: string): string {
  try {
    return decodeURIComponent(rest);
  } catch {
    throw new SubscriptionError("INVALID_REQUEST", "the path is not valid");
  }
}

async function claim(given: MountRequest, deps: WakeDeps, { id }: Route): Promise<void> {
  const { engine } = await given.authorize({ scope: "write" });
  const { worker } = await readBody(given);
  if (typeof worker !== "string" || worker === "" || worker.length > 200)
    throw new SubscriptionError("INVALID_REQUEST", "worker: expected a text of 1 to 200 characters");
  const { settings, session } = await there(deps, engine, id);
  if (settings.type !== "pull-wake")
    throw new SubscriptionError("INVALID_REQUEST", "claim: the subscription is not pull-wake");
  const { world, store } = internalsOf(engine);
  const token = tokenText(engine, Buffer.from(world.random(32)).toString("base64url"));
  for (;;) {
    const woken = await wakeIfPending(deps, engine, session.id);
    if (woken === null) throw new SubscriptionError("NO_PENDING_WORK", "nothing is pending");
    const changed = await deps.subscriptions.change(engine, session.id, async ({ state: { wake } }) => {
      if (wake === null || isExpired(wake, store.now())) return [null];
      if (wake.isTaken) {
        const more = { current_holder: wake.holder, generation: wake.generation };
        throw new SubscriptionError("ALREADY_CLAIMED", "another worker has it", more);
      }
      const body = { token: hash("sha256", token) };
      return [wake, { type: subscriptionTypes.claimed, body, content: { worker } }];
    });
    if (changed === null) throw new SubscriptionError("SUBSCRIPTION_NOT_FOUND", "it was deleted");
    const { result: wake, found } = changed;
    // It ended just now: look again.
    if (wake === null) continue;
    const links = await deps.subscriptions.links(engine, found.state);
    const streams = links.filter((one) => wake.streams.some(({ path }) => path === one.path));
    const { id: wake_id, generation } = wake;
    const claimed = { wake_id, generation, token, lease_ttl_ms: settings.leaseMs };
    return reply(given, 200, {}, JSON.stringify({ ...claimed, streams: streams.map(linkFields) }));
  }
}

/** Callback, ack and release: by the token of a wake. */
async function settle(
  given: MountRequest,
  deps: WakeDeps,
  { id, action, type }: Route & { readonly type: string },
): Promise<void> {
  const [, tenant = "", secret] =
    /^Bearer dst_([^\s.]{1,100})\.([\w-]{20,100})$/.exec(given.request.headers.authorization ?? "") ?? [];
  const digest = secret === undefined ? "" : hash("sha256", `dst_${tenant}.${secret}`);
  const engine = await given.admit(tenant, async (store) => {
    const found = await deps.subscriptions.find(store, id);
    return found?.settings.type === type && found.state.tokens.has(digest);
  });
  const body = await readBody(given);
  const { session } = await there(deps, engine, id);
  const isDone = body["done"] === true;
  const { store } = internalsOf(engine);
  const changed = await deps.subscriptions.change(engine, session.id, async ({ state }) => {
    checkFence(state, body, { digest, nowMs: store.now() });
    if (action === "release") return [null, { type: subscriptionTypes.released }];
    const streams = acksIn(body["acks"], await deps.subscriptions.links(engine, state));
    return [null, { type: subscriptionTypes.acked, body: { done: isDone }, content: { streams } }];
  });
  if (changed === null) throw new SubscriptionError("SUBSCRIPTION_NOT_FOUND", "it was deleted");
  if (action === "release") return reply(given, 204, {});
  const { state } = changed.found;
  const links = isDone ? await deps.subscriptions.links(engine, state) : [];
  const next_wake = links.some((one) => isPending(state, one));
  reply(given, 200, {}, JSON.stringify({ ok: true, next_wake }));
}

/** Refuses what is of another wake than the one in force. */
function checkFence(
  { wake, tokens }: SubscriptionState,
  { wake_id: id, generation }: Fields,
  { digest, nowMs }: { readonly digest: string; readonly nowMs: number },
): void {
  const isCurrent =
    wake !== null &&
    wake.id === id &&
    wake.generation === generation &&
    tokens.get(digest) === wake.generation &&
    !isExpired(wake, nowMs);
  if (!isCurrent) throw new SubscriptionError("FENCED", "another wake is in force");
}

function acksIn(value: unknown, links: readonly StreamLink[]): readonly StreamPlace[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new SubscriptionError("INVALID_REQUEST", "acks: expected a list");
  return (value as readonly Fields[]).map((ack) => {
    const path = ack["stream"] ?? ack["path"];
    const found = links.find((one) => one.path === path);
    if (found === undefined)
      throw new SubscriptionError("INVALID_OFFSET", "acks: expected a stream of the subscription");
    return { path: found.path, session: found.session, seq: ackedSeq(ack["offset"], found) };
  });
}

function ackedSeq(offset: unknown, { tailSeq }: StreamLink): number {
  let seq: number | null = null;
  try {
    seq = seqOfOffset(String(offset));
  } catch {
    // The same error as for one beyond the end.
  }
  if (seq !== null && seq <= tailSeq) return seq;
  throw new SubscriptionError("INVALID_OFFSET", "acks: expected an offset of the stream");
}
