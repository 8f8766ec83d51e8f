/**
 * Other sessions as causes: that they ended, all of them or each, or that one recorded an item. The causes
 * are read from their logs, which are permanent; so nothing is missed without a watch.
 */
import { readRecords } from "../read/record-pages.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import type { SpecOf, TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";
import { liveSession } from "../read/successor.ts";
import { contentOf } from "../read/content.ts";
import { endedOf, notifyWaiting, notifyItem, type SessionEnd } from "./ended-sessions.ts";
import { specOf } from "./fire.ts";
import { listen } from "./session-news.ts";
import type { Cause, Source, TriggerWatch } from "./source.ts";
import { stateNow } from "../read/state-now.ts";

type SessionSpec = SpecOf<"session">;

export const sessionSource: Source = {
  kinds: ["session"],
  async prepare(deps, { session, spec: given }) {
    const spec = given as SessionSpec;
    const { sessions, on, item } = checkSpec(spec);
    const heads: Record<string, number> = {};
    for (const one of new Set(sessions)) heads[one] = await headSeq(deps, session, one as SessionId);
    if (session !== null && on === "end") await refuseCircle(deps, session, sessions as SessionId[]);
    const { since: _, ...plain } = { ...spec, sessions: Object.keys(heads) };
    return { spec: item === undefined ? plain : { ...plain, since: heads }, digest: null };
  },
  async watch(deps, watch, { fire, trouble, signal }) {
    const spec = watch.spec as SessionSpec;
    const sessions = spec.sessions as readonly SessionId[];
    const news = await listen(deps, sessions, signal);
    const how = { deps, watch, spec, fire, seen: new SeenEnds() };
    const look = spec.on === "item" ? lookAtItems : spec.all === true ? lookAtAll : lookAtEach;
    // A session that went on as another one is awaited there.
    const live: SessionId[] = [];
    for (const session of sessions) live.push(await liveSession(deps, session).catch(() => session));
    for (const session of live) news.add(session);
    news.again([...sessions, ...live]);
    for (let reported = false, begun = false; !signal.aborted; await news.next()) {
      const touched = news.take();
      try {
        if (!begun) await how.seen.read(deps, watch);
        begun = true;
        if (await look(how, touched)) return;
        reported = false;
      } catch (error) {
        if (!reported) trouble(`trigger "${watch.name}": ${errorText(error)}`);
        reported = true;
        await deps.world.sleep(retryMs, signal);
        news.again(touched);
      }
    }
  },
};

const retryMs = 2_000;

interface SessionCheckInput {
  readonly deps: Deps;
  readonly watch: TriggerWatch;
  readonly spec: SessionSpec;
  readonly fire: (cause: Cause) => Promise<string | null | undefined>;
  readonly seen: SeenEnds;
}

/** What a trigger has fired for, by its own log. */
class SeenEnds {
  readonly #last = new Map<string, number>();
  #count = 0;

  async read({ store }: Deps, { session, name, setSeq }: TriggerWatch): Promise<void> {
    const log: LogId = session ?? store.workspace;
    const toSeq = (await store.head(log))?.seq ?? 0;
    const only = { types: ["trigger.fired"], contents: true };
    for await (const record of readRecords(store, log, [setSeq + 1, toSeq], only)) {
      if ((JSON.parse(record.body) as { name: string }).name !== name) continue;
      const content = (await contentOf(store, record)) as { detail?: { of?: unknown } } | undefined;
      if (Array.isArray(content?.detail?.of)) this.add(content.detail.of as SessionEnd[]);
    }
  }

  add(of: readonly { readonly session: string; readonly seq: number }[]): void {
    this.#count += 1;
    for (const { session, seq } of of) this.#last.set(session, Math.max(seq, this.#last.get(session) ?? 0));
  }

  /** The last position of a session that it fired for; undefined when it has not for that session. */
  last(session: string): number | undefined {
    return this.#last.get(session);
  }

  get any(): boolean {
    return this.#count > 0;
  }
}

/** True: nothing more can fire. */
type SessionCheck = (look: SessionCheckInput, touched: readonly SessionId[]) => Promise<boolean>;

/** Once, when the last of them has ended. */
const lookAtAll: SessionCheck = async ({ deps, watch, spec, fire, seen }) => {
  if (seen.any) return true;
  const ended: SessionEnd[] = [];
  for (const session of spec.sessions as readonly SessionId[]) {
    const one = await endedOf(deps, session);
    if (one === null) return false;
    ended.push(one);
  }
  const cause = await endCause(deps, watch, spec, { once: "all", ended });
  await fire({ ...cause, last: true });
  return true;
};

/** Once for each end of each: a reopened session may end again. */
const lookAtEach: SessionCheck = async ({ deps, watch, spec, fire, seen }, touched) => {
  for (const session of touched) {
    const one = await endedOf(deps, session);
    const last = one === null ? undefined : (seen.last(one.session) ?? spec.since?.[one.session]);
    // Deleting an ended session does not end it once more.
    if (one === null || (last !== undefined && one.seq <= last)) continue;
    const once = `${one.session}@${one.seq}`;
    const cause = await endCause(deps, watch, spec, { once, ended: [one] });
    if ((await fire(cause)) === undefined) return true;
    seen.add([one]);
  }
  return false;
};

async function endCause(
  deps: Deps,
  { name }: TriggerWatch,
  spec: SessionSpec,
  { once, ended }: { readonly once: string; readonly ended: readonly SessionEnd[] },
): Promise<Cause> {
  const which = ended.map(({ session, seq }) => `${session}@${seq}`).toSorted();
  const text = await notifyWaiting(deps, name, spec, ended);
  return { digest: deps.world.digest("", which.join("\n")), once, text, detail: { of: ended } };
}

interface ItemBody {
  readonly kind: string;
  readonly key: string;
  readonly origin?: { readonly session: string };
}

/** Once for each matching item. */
const lookAtItems: SessionCheck = async ({ deps, watch, spec, fire, seen }, touched) => {
  const { store, world } = deps;
  for (const session of touched) {
    const toSeq = (await store.head(session))?.seq ?? 0;
    const last = seen.last(session) ?? spec.since?.[session] ?? 0;
    const types = ["item.recorded"];
    for await (const { seq, body } of readRecords(store, session, [last + 1, toSeq], { types })) {
      const { kind, key, origin } = JSON.parse(body) as ItemBody;
      if (kind !== spec.item?.kind || !fits(spec.item.key, key)) continue;
      // A pinned item that went over was reported when it was recorded.
      if (origin !== undefined && spec.sessions.includes(origin.session)) continue;
      const once = `${session}@${seq}`;
      const item = await notifyItem(deps, session, { kind, key, seq });
      const text = `Trigger "${watch.name}": the session ${session} recorded ${item}`;
      const cause = { digest: world.digest("", once), once, text, detail: { of: [{ session, seq }] } };
      if ((await fire(cause)) === undefined) return true;
      seen.add([{ session, seq }]);
    }
  }
  return false;
};

/** `*` is any run of characters. */
function fits(pattern: string, key: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === key;
  const end = rest.pop() ?? "";
  if (!key.startsWith(first) || !key.endsWith(end) || key.length < first.length + end.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = key.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= key.length - end.length;
}

function checkSpec(spec: SessionSpec): SessionSpec {
  const { on, item, all, give, since } = spec;
  const wrong =
    on === "item"
      ? item === undefined
        ? "which item is not said"
        : all !== undefined || give !== undefined
          ? '"all" and "give" are for ends'
          : null
      : item !== undefined
        ? "an item is named, but it is to fire on an end"
        : null;
  const made = since === undefined ? null : "where it begins is made, not given";
  if (wrong === null && made === null) return spec;
  throw new SkeinError("invalid", wrong ?? made ?? "", {
    hint: 'on: "end"; or on: "item" with item: { kind: "fact", key: "rate-*" }',
  });
}

/** The other session's current position. Refuses a session that cannot be waited for. */
async function headSeq({ store }: Deps, session: SessionId | null, other: SessionId): Promise<number> {
  if (other === session) {
    throw new SkeinError("invalid", `sessions: ${other} would wait for itself`, {
      hint: "name another session",
    });
  }
  const head = await store.head(other);
  if (head === undefined) {
    throw new SkeinError("not-found", `sessions: session ${other} not found`, {
      hint: '"skein ps" lists the sessions',
    });
  }
  if (head.copy !== true) return head.seq;
  throw new SkeinError("invalid", `sessions: ${other} is in another store`, {
    hint: "a trigger reports only sessions of the same store",
  });
}

/** Refuses to wait for a session that waits, through any number of others, for this one. */
async function refuseCircle(deps: Deps, session: SessionId, sessions: readonly SessionId[]): Promise<void> {
  const waiting: { readonly at: SessionId; readonly path: readonly SessionId[] }[] = [];
  for (const at of sessions) waiting.push({ at, path: [session, at] });
  const seen = new Set<SessionId>(sessions);
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    for (const next of await awaitedBy(deps, one.at)) {
      const path = [...one.path, next];
      if (next === session) {
        throw new SkeinError("invalid", `sessions: cycle: ${path.join(" waits for ")}`, {
          hint: "remove one of them",
        });
      }
      if (seen.has(next)) continue;
      seen.add(next);
      if (seen.size > limit.awaitedWalkMax) {
        throw new SkeinError(
          "refused",
          `sessions: more than ${limit.awaitedWalkMax} sessions wait for each other`,
        );
      }
      waiting.push({ at: next, path });
    }
  }
}

/** The sessions whose ends a session still waits for. */
async function awaitedBy(deps: Deps, session: SessionId): Promise<readonly SessionId[]> {
  if ((await deps.store.head(session)) === undefined) return [];
  const state: State = await stateNow(deps, session);
  if (["closed", "archived", "moved"].includes(state.standing.status)) return [];
  const found: SessionId[] = [];
  for (const trigger of state.standing.triggers.values()) {
    if (trigger.kind !== "session") continue;
    const spec: TriggerSpec | null = await specOf(deps, session, trigger);
    if (spec?.kind !== "session" || spec.on !== "end") continue;
    // A trigger that has fired for all of them no longer waits.
    if (spec.all === true && trigger.lastCause !== null) continue;
    found.push(...(spec.sessions as readonly SessionId[]));
  }
  return found;
}
