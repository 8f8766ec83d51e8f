/**
 * Subscriptions: a session each, found by a label with the digest of the id. What wakes it, who has it and
 * how far it got are records, each written in an append that expects the state it was decided on: any number
 * of servers and workers may share a subscription.
 */
import { hash } from "node:crypto";
import { SkeinError } from "../../core/error.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { openOnce } from "../open-once.ts";
import { orNull, type NamedStreams } from "./named-streams.ts";
import {
  emptySubscription,
  foldSubscription,
  linksOf,
  subscriptionTypes,
  type StreamLink,
  type SubscriptionSettings,
  type SubscriptionState,
} from "./subscription-state.ts";

const idLabel = "durable-streams.subscription";
const kindLabels = { "durable-streams.kind": "subscription" };
const types: readonly string[] = Object.values(subscriptionTypes);
const triesMax = 50;
const knownMax = 1_000;
/** What one record can name. */
const streamsMax = 1_000;
const contentCharsMax = 300_000;

type Store = ReturnType<typeof internalsOf>["store"];

/** A subscription that is there. */
export interface Subscription {
  readonly session: Session;
  readonly state: SubscriptionState;
  readonly settings: SubscriptionSettings;
}

/** A record to write. */
export interface SubscriptionRecord {
  readonly type: (typeof subscriptionTypes)[keyof typeof subscriptionTypes];
  readonly body?: object;
  readonly content?: object;
}

export class Subscriptions {
  readonly #streams: NamedStreams;
  /** By store and session; only ever behind. */
  readonly #known = new WeakMap<Store, Map<string, SubscriptionState>>();

  constructor(streams: NamedStreams) {
    this.#streams = streams;
  }

  /** The subscription of an id; null: there is none. */
  async find(engine: Engine, id: string): Promise<Subscription | null> {
    for (const session of await sessionsOf(engine, { [idLabel]: hash("sha256", id, "hex") })) {
      const found = await this.at(engine, session);
      if (found !== null) return found;
    }
    return null;
  }

  /** The subscription of a session, as of its head; null: it is none. */
  async at(engine: Engine, id: string): Promise<Subscription | null> {
    const session = await orNull(engine.session(id));
    return session === null ? null : orNull(this.#read(engine, session));
  }

  async #read(engine: Engine, session: Session): Promise<Subscription | null> {
    const { store } = internalsOf(engine);
    const states = this.#known.get(store) ?? new Map<string, SubscriptionState>();
    this.#known.set(store, states);
    const { seq: headSeq } = await session.head();
    let state = states.get(session.id) ?? emptySubscription;
    // A restored copy of the store may have fewer records.
    if (state.seq > headSeq) state = emptySubscription;
    if (state.seq < headSeq) {
      for await (const event of session.events({ fromSeq: state.seq + 1, toSeq: headSeq, types }))
        state = foldSubscription(state, event);
      state = { ...state, seq: headSeq };
    }
    states.delete(session.id);
    states.set(session.id, state);
    for (const oldest of states.keys()) if (states.size > knownMax) states.delete(oldest);
    const { settings } = state;
    return settings === null ? null : { session, state, settings };
  }

  /** The sessions of all subscriptions. */
  all(engine: Engine): Promise<readonly string[]> {
    return sessionsOf(engine, kindLabels);
  }

  /** Creates a subscription, linked to the streams that there are. Null: another request created it. */
  async create(engine: Engine, settings: SubscriptionSettings, base: string): Promise<Subscription | null> {
    const digest = hash("sha256", settings.id, "hex");
    const state = { ...emptySubscription, settings, explicit: new Set(settings.streams) };
    const links = await this.links(engine, state);
    const streams = links.map(({ path, session, tailSeq }) => ({ path, session, seq: tailSeq }));
    if (streams.length > streamsMax || JSON.stringify(streams).length > contentCharsMax)
      throw new SkeinError("invalid", `subscription: expected at most ${streamsMax} streams that exist`, {
        hint: "use a narrower pattern",
      });
    const session = await openOnce(`${idLabel}:${digest}`, (key) =>
      engine.open({
        objective: `Stream subscription ${settings.id}`,
        labels: { ...kindLabels, [idLabel]: digest },
        key,
      }),
    );
    const { duplicate } = await session.append(
      [{ type: subscriptionTypes.created, body: {}, content: { settings, base, streams } }],
      { key: `${idLabel}:created`, verbatim: true },
    );
    return duplicate ? null : this.at(engine, session.id);
  }

  /** The linked streams, as they are now. */
  async links(
    engine: Engine,
    state: Pick<SubscriptionState, "settings" | "explicit" | "acked">,
  ): Promise<readonly StreamLink[]> {
    const streams = new Map<string, { session: string; tailSeq: number }>();
    if (state.settings !== null && state.settings.pattern !== null) {
      for await (const [name, { session, state: stream }] of this.#streams.all(engine))
        streams.set(name, { session: session.id, tailSeq: stream.tailSeq });
    } else {
      for (const path of state.explicit) {
        const stream = await this.#streams.find(engine, path);
        if (stream !== null && !stream.state.isDeleted)
          streams.set(path, { session: stream.session.id, tailSeq: stream.state.tailSeq });
      }
    }
    return linksOf({ ...emptySubscription, ...state }, streams);
  }

  /** Decides and writes. `decide` throws, or says what is written; no record: nothing. */
  async change<T>(
    engine: Engine,
    id: string,
    decide: (found: Subscription) => Promise<readonly [T, ...SubscriptionRecord[]]>,
  ): Promise<{ readonly result: T; readonly found: Subscription } | null> {
    for (let tries = 1; ; tries++) {
      const found = await this.at(engine, id);
      if (found === null) return null;
      const [result, ...records] = await decide(found);
      if (records.length === 0) return { result, found };
      try {
        await found.session.append(
          records.map(({ type, body = {}, content = null }) => ({ type, body, content })),
          { expect: { seq: found.state.seq }, verbatim: true },
        );
        const after = await this.at(engine, id);
        return after === null ? null : { result, found: after };
      } catch (error) {
        if (!(error instanceof SkeinError)) throw error;
        if (error.code === "not-found") return null;
        if (error.code !== "conflict" || tries === triesMax) throw error;
      }
    }
  }
}

/** The sessions with these labels that are no person's copies. */
async function sessionsOf(engine: Engine, labels: Readonly<Record<string, string>>): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await engine.sessions({ labels, ...(cursor === undefined ? {} : { cursor }) });
    for (const { session, parent } of page.rows) if (parent === null) found.push(session);
    ({ cursor } = page);
  }
  return found;
}
