/**
 * Drawers: what the adapters for frameworks that only want a store have in common. Such a framework keeps its
 * own loop and hands over objects to keep, under an outer id (a thread, a session) that is any text.
 *
 * - **One session per outer id.** `open` finds it by a label whose value is the digest of the id, or opens it
 *   with an idempotency key from the same digest, so that two processes that meet a new id at once get one
 *   session. Ids of deleted sessions are never used again: then the key counts up. The id itself is the
 *   content of the first record, so that `list` returns it.
 * - **Verbatim records.** `append` writes records `x.ADAPTER.NOUN` in one append: `body` is for what the log
 *   view may show for ever (numbers, plain ids), `value` is any JSON and comes back equal. What Skein's JSON
 *   cannot hold (NUL, half surrogate pairs, the key `__proto__`, nesting over 64) is stored as JSON text, and
 *   what is longer than a record as several text records before it, in the same append. Values that JSON
 *   lacks (`NaN`, a `Date`, `undefined` in a list) are refused: serialize them first.
 * - **Incremental reads.** `read(fromSeq)` gives the records from a position on. An adapter keeps an index
 *   that is derived from them, with the position it has read to, and reads on from there before it answers:
 *   so it sees what other processes wrote.
 * - **Secrets.** Records are appended `verbatim`: texts that only look like secrets come back equal, and
 *   registered secrets are refused. With `redact`, Skein redacts as everywhere, and they do not come back
 *   equal.
 * - **In the process only.** Over HTTP `open` takes no `key` and `append` no `verbatim`, so a drawer needs
 *   the engine in its process.
 * - **Closed sessions.** Frameworks never close, so a drawer reopens a closed or archived session to write.
 */
import { createHash } from "node:crypto";
import { SkeinError } from "../core/error.ts";
import type { SessionEvent } from "../core/event.ts";
import { limit } from "../core/limit.ts";
import { openOnce } from "./open-once.ts";

/** The session calls that a drawer needs. */
interface DrawerSession {
  readonly id: string;
  append(
    records: readonly ForeignRecord[],
    options: { readonly key?: string; readonly verbatim?: boolean },
  ): Promise<{ readonly seq: number; readonly headSeq: number; readonly duplicate: boolean }>;
  events(options: EventRange): AsyncIterable<SessionEvent>;
  reopen(): Promise<unknown>;
}

interface EventRange {
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly types: readonly string[];
  readonly limit?: number;
}

interface ForeignRecord {
  readonly type: `x.${string}`;
  readonly body: unknown;
  readonly content: unknown;
}

type Labels = Readonly<Record<string, string>>;

interface SessionsPage {
  readonly rows: readonly { readonly session: string; readonly parent: unknown }[];
  readonly cursor: string | null;
}

/** The engine calls that drawers need. */
export interface DrawerEngine {
  open(options: {
    readonly objective: string;
    readonly labels: Labels;
    readonly key: string;
  }): Promise<DrawerSession>;
  session(id: string): Promise<DrawerSession>;
  sessions(options: { readonly labels: Labels; readonly cursor?: string }): Promise<SessionsPage>;
  delete(id: string, options: { readonly reason: string }): Promise<void>;
}

/** What tells the drawers of one adapter from those of all others in the store. */
export interface DrawerOptions {
  /** The adapter, as in `x.ADAPTER.NOUN` and in the label `adapter`. */
  readonly adapter: string;
  /** The framework's word for an outer id: the key of the label, and the type of the first record. */
  readonly kind: string;
  /** The nouns of its records. */
  readonly nouns: readonly string[];
  /** The objective of a new session. It is redacted, and erased with the session. */
  readonly objective: (outer: string) => string;
  /** Redacts secrets instead of keeping records as they are. */
  readonly redact?: boolean | undefined;
}

/** A record to write. */
export interface DrawerRecord {
  readonly noun: string;
  /** Shown in the log, never erased: numbers and plain ids only. At most 4,096 bytes. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Any JSON. */
  readonly value: unknown;
}

/** A record as it was read. */
export interface StoredDrawerRecord extends DrawerRecord {
  readonly seq: number;
  /** The first record that holds a part of its value; `seq`, unless it was too long for one. */
  readonly firstSeq: number;
  readonly at: number;
  /** The content was erased; `value` is absent. */
  readonly erased: boolean;
}

/** The position of an append. */
export interface DrawerAppend {
  readonly seqs: readonly number[];
  /** The first position that it wrote. */
  readonly firstSeq: number;
  readonly headSeq: number;
  /** An append with the same key exists: nothing was written, and only `firstSeq` is known. */
  readonly duplicate: boolean;
}

/** The session of one outer id. */
export interface Drawer {
  readonly session: string;
  readonly outer: string;
  /** Writes all records in one append, or none. A second append with the same key writes nothing. */
  append(records: readonly DrawerRecord[], options?: { readonly key?: string }): Promise<DrawerAppend>;
  /** The adapter's records in a range, in order. `fromSeq` is a record's `firstSeq`, or a free position. */
  read(fromSeq: number, toSeq?: number): AsyncGenerator<StoredDrawerRecord>;
}

/** All drawers of one adapter and kind. */
export interface Drawers {
  /** The drawer of an outer id; null when nothing was ever written for it. */
  find(outer: string): Promise<Drawer | null>;
  /** The same, and opens its session when there is none. */
  open(outer: string): Promise<Drawer>;
  /** Every drawer, the most recently active first. */
  list(): AsyncGenerator<Drawer>;
  /** Deletes the session for good. False when there was none. Rejects when a hold protects it. */
  delete(outer: string): Promise<boolean>;
}

/** Makes the drawers of one adapter and kind. They hold no state of their own. */
export function makeDrawers(engine: DrawerEngine, options: DrawerOptions): Drawers {
  const { adapter, kind } = options;
  const labelsOf = (outer: string): Labels => ({ adapter, [kind]: digestOf(outer) });
  const drawerOf = (session: DrawerSession, outer: string): Drawer => makeDrawer(session, outer, options);

  async function* rowsOf(labels: Labels): AsyncGenerator<string> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: SessionsPage = await engine.sessions({
        labels,
        ...(cursor === undefined ? {} : { cursor }),
      });
      // A fork of a drawer inherits its labels and is a person's copy of it.
      for (const { session, parent } of page.rows) if (parent === null) yield session;
      cursor = page.cursor;
    }
  }

  async function find(outer: string): Promise<DrawerSession | null> {
    for await (const id of rowsOf(labelsOf(outer))) {
      const session = await orGone(engine.session(id));
      if (session !== null) return session;
    }
    return null;
  }

  function create(outer: string): Promise<DrawerSession> {
    const given = { objective: options.objective(outer), labels: labelsOf(outer) };
    const key = `drawer:${adapter}:${kind}:${digestOf(outer)}`;
    return openOnce(`${key}:0`, (one) => engine.open({ ...given, key: one }));
  }

  return {
    async find(outer) {
      const session = await find(outer);
      return session === null ? null : drawerOf(session, outer);
    },
    async open(outer) {
      const session = (await find(outer)) ?? (await create(outer));
      const drawer = drawerOf(session, outer);
      // Unless it is there: a process may have died after opening the session.
      if ((await outerOf(session, options)) === null)
        await drawer.append([{ noun: kind, value: outer }], { key: "outer-id" });
      return drawer;
    },
    async *list() {
      for await (const id of rowsOf({ adapter })) {
        const session = await orGone(engine.session(id));
        const outer = session === null ? null : await outerOf(session, options);
        if (session !== null && outer !== null) yield drawerOf(session, outer);
      }
    },
    async delete(outer) {
      let deleted = false;
      for await (const id of rowsOf(labelsOf(outer))) {
        await orGone(engine.delete(id, { reason: `${adapter}: ${kind} deleted` }));
        deleted = true;
      }
      return deleted;
    },
  };
}

/** The digest of an outer id, as a label value has it. */
const digestOf = (text: string): string =>
  // As UTF-16: half surrogate pairs stay apart.
  createHash("sha256").update(text, "utf16le").digest("hex").slice(0, 40);

async function outerOf(session: DrawerSession, options: DrawerOptions): Promise<string | null> {
  const types = [typeOf(options, options.kind)];
  try {
    for await (const { content } of session.events({ types, limit: 1 })) {
      const outer = content === undefined ? null : fromContent(content, []);
      return typeof outer === "string" ? outer : null;
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return null;
}

function makeDrawer(session: DrawerSession, outer: string, options: DrawerOptions): Drawer {
  const verbatim = options.redact === true ? {} : { verbatim: true };
  const types = [...options.nouns, partNoun].map((noun) => typeOf(options, noun));

  async function append(records: readonly ForeignRecord[], key: string | undefined) {
    const how = { ...verbatim, ...(key === undefined ? {} : { key }) };
    try {
      return await session.append(records, how);
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "refused") throw error;
      // Refused for another reason than its status: then it cannot be reopened, and the reason counts.
      await session.reopen().catch(() => Promise.reject(error));
      return session.append(records, how);
    }
  }

  return {
    session: session.id,
    outer,
    async append(records, { key } = {}) {
      const written: ForeignRecord[] = [];
      const places = records.map(({ noun, body = {}, value }) => {
        const contents = toContents(noun, value);
        for (const [place, content] of contents.entries()) {
          const isLast = place === contents.length - 1;
          const type = typeOf(options, isLast ? noun : partNoun);
          written.push({ type, body: isLast ? body : {}, content });
        }
        return written.length - 1;
      });
      checkCount(options, written.length);
      const { seq, headSeq, duplicate } = await append(written, key);
      return { seqs: places.map((place) => seq + place), firstSeq: seq, headSeq, duplicate };
    },
    async *read(fromSeq, toSeq) {
      const range = { fromSeq, types, ...(toSeq === undefined ? {} : { toSeq }) };
      let parts: SessionEvent[] = [];
      for await (const event of session.events(range)) {
        const noun = event.type.slice(options.adapter.length + 3);
        if (noun === partNoun) parts.push(event);
        else {
          yield readRecord(event, noun, parts);
          parts = [];
        }
      }
    },
  };
}

function readRecord(event: SessionEvent, noun: string, parts: readonly SessionEvent[]): StoredDrawerRecord {
  const { seq, at, content } = event;
  const erased = content === undefined || parts.some((part) => part.content === undefined);
  const value = erased
    ? undefined
    : fromContent(
        content,
        parts.map((part) => part.content),
      );
  const body = event.body as Readonly<Record<string, unknown>>;
  return { noun, body, value, seq, firstSeq: parts[0]?.seq ?? seq, at, erased };
}

const typeOf = ({ adapter }: DrawerOptions, noun: string): `x.${string}` => `x.${adapter}.${noun}`;

/** A record that holds a part of the value of the next record without this noun. */
const partNoun = "part";

function checkCount({ adapter }: DrawerOptions, count: number): void {
  if (count <= limit.appendRecordsMax) return;
  throw new SkeinError(
    "invalid",
    `${adapter}: expected at most ${limit.appendRecordsMax} records in one append, got ${count}`,
    { hint: `a value takes one record for every ${partChars} characters of its JSON` },
  );
}

/** Whether a session does not exist any more: deleted by this or another process. */
export const isGone = (error: unknown): boolean => error instanceof SkeinError && error.code === "not-found";

/** The result; null when the session does not exist any more. */
async function orGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** The content of a record: the value, its JSON text, or nothing when the text is in the records before. */
type Content = { readonly value: unknown } | { readonly json: string } | { readonly parts: number };

/** A character of JSON text takes at most three bytes in a record; some bytes are left for the frame. */
const partChars = Math.floor((limit.contentBytesMax - 1_024) / 3);

/** The contents that hold a value: one, or the parts of its text and then one that counts them. */
function toContents(what: string, value: unknown): readonly Content[] {
  const found = survey(what, value);
  // An escaped character takes six.
  if (found.chars <= partChars / 2 && found.isPlain) return [{ value }];
  const json = JSON.stringify(value);
  if (json.length <= partChars) return [found.isPlain ? { value } : { json }];
  const parts: Content[] = [];
  for (let from = 0; from < json.length;) {
    let to = Math.min(from + partChars, json.length);
    // Not between the halves of a surrogate pair.
    if (to < json.length && /[\uD800-\uDBFF]/.test(json.charAt(to - 1))) to -= 1;
    parts.push({ json: json.slice(from, to) });
    from = to;
  }
  return [...parts, { parts: parts.length }];
}

function fromContent(content: unknown, parts: readonly unknown[]): unknown {
  if (isContent(content, "value")) return content.value;
  if (isContent(content, "json")) return JSON.parse(String(content.json));
  const texts = parts.map((part) => (isContent(part, "json") ? String(part.json) : ""));
  if (isContent(content, "parts") && content.parts === parts.length) return JSON.parse(texts.join(""));
  throw new SkeinError("corrupt", "a record of an adapter has content of an unknown form", {
    hint: 'a newer Skein may have written it; run "skein verify ID" to see whether it is damaged',
  });
}

const isContent = <K extends string>(content: unknown, key: K): content is Readonly<Record<K, unknown>> =>
  typeof content === "object" && content !== null && Object.hasOwn(content, key);

interface Survey {
  /** At least the length of its JSON text, if nothing in it needs an escape. */
  chars: number;
  /** Skein's JSON can hold it. */
  isPlain: boolean;
}

/** Surveys a value, and refuses values that are not JSON. */
function survey(what: string, value: unknown): Survey {
  const found: Survey = { chars: 0, isPlain: true };
  try {
    walk(what, value, 1, found);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SkeinError("invalid", `${what}: nested too deep to be stored`, { cause: error });
  }
  return found;
}

function walk(what: string, value: unknown, depth: number, found: Survey): void {
  found.chars += 8;
  if (typeof value === "string") return walkText(value, found);
  if (typeof value === "boolean" || value === null) return;
  if (typeof value === "number" && Number.isFinite(value)) {
    found.chars += 24;
    return;
  }
  if (typeof value !== "object") throw noJson(what, typeof value === "number" ? String(value) : typeof value);
  // The value is inside of the content.
  if (depth >= limit.jsonDepthMax) found.isPlain = false;
  if (Array.isArray(value)) {
    for (let place = 0; place < value.length; place++) walk(what, value[place], depth + 1, found);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (
    (prototype !== Object.prototype && prototype !== null) ||
    typeof Reflect.get(value, "toJSON") === "function"
  )
    throw noJson(what, "an object of a class");
  for (const key of Object.keys(value)) {
    const one = (value as Readonly<Record<string, unknown>>)[key];
    if (one === undefined) continue;
    // Skein's JSON refuses any field of these names.
    if (key === "__proto__" || key === "toJSON") found.isPlain = false;
    walkText(key, found);
    walk(what, one, depth + 1, found);
  }
}

function walkText(text: string, found: Survey): void {
  found.chars += text.length;
  if (found.isPlain && (!text.isWellFormed() || text.includes("\0"))) found.isPlain = false;
}

const noJson = (what: string, got: string): SkeinError =>
  new SkeinError("invalid", `${what}: expected JSON, got ${got}`, {
    hint: "serialize it first: only null, booleans, numbers, texts, arrays and plain objects can be stored",
  });
