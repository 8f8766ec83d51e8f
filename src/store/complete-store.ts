/**
 * Completes a driver that stores only logs: supplies the missing capabilities in memory, on a mirror of its
 * logs without contents. Such a store is for one process, and its index starts empty with each opening: the
 * engine rebuilds it from the logs.
 *
 * Without `ScheduleStore`, leases are read from the records that take and release them, and a second holder
 * is refused. Without `BlobStore`, contents of more than 64 KiB are refused; without `ReceiveStore`, received
 * sessions; without `Maintenance`, deletions and erasures.
 */
import { present } from "../core/present.ts";
import type { StoredRecord } from "../core/chain.ts";
import { SkeinError } from "../core/error.ts";
import { isSharedLogId, type LogId } from "../core/ids.ts";
import { version } from "../core/version.ts";
import { capabilities, capabilitiesOf, isComplete, type Capability } from "./capabilities.ts";
import { missingIndex, partsFlaw } from "./judge.ts";
import { makeDerived, type DerivedState } from "./memory/derived.ts";
import {
  beginPart,
  headSeqOf,
  livingLog,
  newLogs,
  pushRecord,
  setIndex,
  setLease,
  type Log,
} from "./memory/log.ts";
import { withProgress } from "./paging.ts";
import type { Head, LogStore, Outcome, Part, Store, StoreWorld } from "./port.ts";

/** Returns a store with every capability unchanged. */
export async function completeStore(
  store: LogStore,
  { world }: { readonly world: StoreWorld },
): Promise<Store> {
  if (isComplete(store)) return store;
  const has = capabilitiesOf(store);
  const mirror = new Mirror(store, has, world);
  await mirror.catchUp();
  return withProgress({ ...mirror.derived(), ...pick(store, has), ...mirror.log() });
}

/** The driver's own methods. */
function pick(store: LogStore, has: ReadonlySet<Capability>): object {
  const names = [...has].flatMap((name) => capabilities[name] as readonly (keyof Store)[]);
  return Object.fromEntries(
    names.map((name) => [name, (Reflect.get(store, name) as (...args: unknown[]) => unknown).bind(store)]),
  );
}

const lacks = (what: string, capability: Capability, hint: string): SkeinError =>
  new SkeinError("refused", `${what}: the store's driver does not support ${quoted[capability]}`, { hint });

const quoted: Readonly<Record<Capability, string>> = {
  blobs: "BlobStore",
  snapshots: "SnapshotStore",
  index: "IndexStore",
  search: "SearchStore",
  schedule: "ScheduleStore",
  receive: "ReceiveStore",
  maintenance: "Maintenance",
};

const feedRecords = 1_000;

/** The logs of a driver without bodies and contents, with the data derived from them. */
class Mirror {
  readonly #store: LogStore;
  readonly #has: ReadonlySet<Capability>;
  readonly #state: DerivedState;
  #position: string | null = null;
  /** Serializes appends and reads of the feed. */
  #last: Promise<unknown> = Promise.resolve();
  /** Logs with an append whose result was lost. */
  readonly #uncertain = new Set<LogId>();
  #isLoaded = false;
  /** Another process has appended since this one opened the store. */
  #isShared = false;

  constructor(store: LogStore, has: ReadonlySet<Capability>, world: StoreWorld) {
    this.#store = store;
    this.#has = has;
    this.#state = { world, logs: newLogs(), projectedTo: null, erasures: 0 };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Advances the mirror to the end of the feed. */
  async catchUp(): Promise<void> {
    await this.#inTurn(() => this.#readFeed());
  }

  async #readFeed(): Promise<void> {
    for (;;) {
      const page = await this.#store.feed(this.#position, feedRecords);
      for (const record of page.records) await this.#learn(record);
      const isEnd = page.records.length === 0 || page.position === this.#position;
      this.#position = page.position;
      if (isEnd) break;
    }
    this.#isLoaded = true;
    this.#uncertain.clear();
  }

  async #learn(record: StoredRecord): Promise<void> {
    const { logs } = this.#state;
    const log = logs.all.get(record.session) ?? (await this.#begin(record));
    if (log === null || record.seq <= headSeqOf(log)) return;
    if (this.#isLoaded && !this.#uncertain.has(record.session)) this.#isShared = true;
    this.#keep(log, record);
    if (!this.#has.has("schedule")) leaseIn(log, record, logs.position);
  }

  async #begin({ session, seq }: StoredRecord): Promise<Log | null> {
    const head = await this.#store.head(session);
    if (head === undefined) return null;
    return beginPart(
      this.#state.logs,
      seq > 1 && head.parent !== null ? { session, parent: head.parent } : { session },
    );
  }

  /** The first record stays whole: it names the origin of the session. */
  #keep(log: Log, record: StoredRecord): void {
    const body = record.seq === log.firstSeq ? record.body : "{}";
    pushRecord(this.#state.logs, log, { ...record, body, salt: null, content: null }, []);
  }

  log(): Pick<Store, keyof LogStore | "head"> {
    const store = this.#store;
    return {
      workspace: store.workspace,
      append: (parts) => this.#inTurn(() => this.#append(parts)),
      head: (session) => this.#head(session),
      read: (session, range) => store.read(session, range),
      keyed: (session, key) => store.keyed(session, key),
      seqAt: (session, at) => store.seqAt(session, at),
      feed: (after, count) => store.feed(after, count),
      feedEnd: () => store.feedEnd(),
      watch: (changed) => store.watch(changed),
      close: () => store.close(),
    };
  }

  async #head(session: LogId): Promise<Head | undefined> {
    const head = await this.#store.head(session);
    if (head === undefined || this.#has.has("schedule")) return head as Head | undefined;
    const log = livingLog(this.#state.logs, session);
    return { ...head, epoch: log?.epoch ?? 0, lease: log?.lease ?? null };
  }

  async #append(parts: readonly Part[]): Promise<Outcome> {
    const flaw = partsFlaw(parts);
    if (flaw !== null) throw new SkeinError("invalid", flaw);
    for (const part of parts) {
      const refused = await this.#verdictOn(part);
      if (refused !== null) return refused;
    }
    const outcome = await this.#store.append(parts.map((part) => this.#ownOf(part)));
    if (outcome.kind === "unknown") for (const { session } of parts) this.#uncertain.add(session);
    if (outcome.kind !== "ok") return outcome;
    for (const [place, part] of parts.entries()) {
      const written = outcome.parts[place];
      if (written !== undefined) this.#note(part, written);
    }
    return outcome;
  }

  /** Judges the parts of an append that the driver does not support; the driver judges the rest. */
  async #verdictOn(part: Part): Promise<Outcome | null> {
    const { session, drafts, drop, erase, index, lease, epoch } = part;
    const begins = livingLog(this.#state.logs, session) === undefined;
    if ((drop === true || erase !== undefined) && !this.#has.has("maintenance")) {
      throw lacks(drop === true ? "delete" : "erase", "maintenance", "use a store in a file or PostgreSQL");
    }
    if (drafts.some(({ blobs }) => blobs.length > 0) && !this.#has.has("blobs")) throw noBlobs();
    if (begins && index === undefined && !isSharedLogId(session) && drop !== true)
      throw missingIndex(session);
    if (this.#has.has("schedule")) return null;
    if (typeof lease === "object") await this.#checkAlone();
    const inForce = livingLog(this.#state.logs, session)?.epoch ?? 0;
    if (epoch === undefined || epoch === inForce) return null;
    for (const { key } of drafts) {
      const seq = key === null ? undefined : await this.#store.keyed(session, key);
      if (key !== null && seq !== undefined) return { kind: "duplicate", session, key, seq };
    }
    return { kind: "fenced", session, epoch: inForce };
  }

  /** Leases of other processes are not visible here, and cannot be renewed for them. */
  async #checkAlone(): Promise<void> {
    await this.#readFeed();
    if (!this.#isShared) return;
    throw lacks(
      "run: another process uses the store",
      "schedule",
      "run sessions in one process, and reopen it",
    );
  }

  #ownOf({ index, lease, epoch, drop, erase, ...part }: Part): Part {
    const schedule = this.#has.has("schedule");
    return {
      ...part,
      ...(index === undefined || !this.#has.has("index") ? {} : { index }),
      ...(lease === undefined || !schedule ? {} : { lease }),
      ...(epoch === undefined || !schedule ? {} : { epoch }),
      ...present({ drop, erase }),
    };
  }

  #note(part: Part, written: Extract<Outcome, { kind: "ok" }>["parts"][number]): void {
    const { logs, world } = this.#state;
    const { session, drafts } = part;
    const log = logs.all.get(session) ?? beginPart(logs, part);
    for (const [place, draft] of drafts.entries()) {
      const { type, v, actor, turn, cause, key, body, content } = draft;
      const of = { session, seq: written.firstSeq + place, at: written.at, type, v, actor, turn, cause, key };
      const [contentHash, contentBytes] = [content?.hash ?? null, content?.bytes ?? null];
      const hash = written.hashes[place] ?? "";
      this.#keep(log, { ...of, contentHash, contentBytes, body, hash, salt: null, content: null });
    }
    const now = world.now();
    if (part.index !== undefined) setIndex(log, part.index, now);
    if (part.lease !== undefined)
      setLease(log, part.lease, { firstSeq: written.firstSeq, now, order: logs.position });
    if (part.drop === true) log.dropped = true;
  }

  /** Every capability, in memory; the impossible ones refuse. */
  derived(): Omit<Store, keyof LogStore> {
    const { logs, world } = this.#state;
    const derived = makeDerived(this.#state);
    const fresh: Wrap =
      (work) =>
      async (...args) => {
        await this.catchUp();
        return work(...args);
      };
    return {
      ...mapped(derived, fresh),
      now: () => world.now(),
      readClock: async () => world.now(),
      ...noReceiving,
      putBlob: async () => {
        throw noBlobs();
      },
      dropBlob: async () => undefined,
      blob: async () => undefined,
      program: version,
      derivedInMemory: true,
      sweep: async () => undefined,
      pack: async () => ({ records: 0, bytesBefore: 0, bytesAfter: 0 }),
      packedTo: async (session) => (livingLog(logs, session)?.firstSeq ?? 1) - 1,
      scrub: async () => undefined,
      check: async () => [],
      stats: fresh(async () => figuresOf(this.#state)),
      bytes: async () => null,
    };
  }
}

type Wrap = <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) => (...args: A) => Promise<R>;

/** The same functions, each wrapped. */
const mapped = <T extends object>(functions: T, wrap: Wrap): T =>
  Object.fromEntries(
    Object.entries(functions as Record<string, Work>).map(([name, work]) => [name, wrap(work)]),
  ) as T;

type Work = (...args: readonly unknown[]) => Promise<unknown>;

const noBlobs = (): SkeinError =>
  lacks("a content of more than 64 KiB, or a file", "blobs", "use a store in a file or PostgreSQL");

const refuseReceiving = async (): Promise<never> => {
  throw lacks("import", "receive", "import into a store in a file or PostgreSQL");
};

const noReceiving = {
  receive: refuseReceiving,
  put: refuseReceiving,
  finish: refuseReceiving,
  discard: async () => undefined,
};

/** A lease from the record that took it; renewals are not in the log. */
function leaseIn(log: Log, { type, body, seq, at }: StoredRecord, order: number): void {
  if (type === "lease.released") setLease(log, "release", { firstSeq: seq, now: at, order });
  if (type !== "lease.taken") return;
  const { holder, leaseMs } = JSON.parse(body) as { readonly holder: string; readonly leaseMs: number };
  setLease(log, { holder, leaseMs }, { firstSeq: seq, now: at, order });
}

function figuresOf({ logs }: DerivedState): Awaited<ReturnType<Store["stats"]>> {
  const all = [...logs.all.values()].filter(({ dropped }) => !dropped);
  const snapshots = all.flatMap((log) => [...log.snapshots.values()]);
  const none = { segments: 0, segmentBytes: 0, unscrubbed: false, blobs: 0, blobBytes: 0 };
  return {
    driver: "log",
    version: "1",
    durability: "disk",
    bytes: null,
    sessions: all.filter(({ id }) => !isSharedLogId(id)).length,
    records: all.reduce((sum, log) => sum + log.records.length, 0),
    contentBytes: logs.journal.reduce((sum, { record }) => sum + (record.contentBytes ?? 0), 0),
    snapshots: snapshots.length,
    snapshotBytes: snapshots.reduce((sum, { text }) => sum + text.length, 0),
    ...none,
  };
}
