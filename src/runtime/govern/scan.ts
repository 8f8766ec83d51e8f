/**
 * Scan: finds secrets that entered the store before they were registered, or before detection existed. It
 * only reads, and never shows a secret: a preview has the name in its place.
 */
import { readPages } from "../read/record-pages.ts";
import { checkCall } from "../../call/check.ts";
import { isForeign } from "../../core/catalog.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId } from "../../core/ids.ts";
import { marker, type Redactor } from "../../core/secret/redactor.ts";
import type { Store } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import type { IndexProgress } from "../read/projection.ts";
import { secretInBytes, textIn, unpackedBytes, vocabulary } from "../log/redact.ts";

/** Options of `engine.scan`. */
export interface ScanOptions {
  /** One session, with what it shares with its parents; defaults to every log of the store. */
  readonly session?: string;
  readonly progress?: IndexProgress;
}

/** A secret that `engine.scan` found: its position, never its value. */
export interface ScanFinding {
  readonly session: LogId;
  readonly seq: number;
  /** The log of the record: a parent's, where the session shares it. */
  readonly owner: LogId;
  /** That log lives in another store: nothing in it can be erased here, but it can be deleted. */
  readonly elsewhere: boolean;
  readonly type: string;
  /** The name under which it is registered, or what it looks like. */
  readonly kind: string;
  readonly registered: boolean;
  /** `body`: in a key or a label, which is never erased. `blob`: in a file that the record names. */
  readonly where: "content" | "body" | "blob";
  /** The surrounding text. */
  readonly preview: string;
}

/** The result of `engine.scan`. */
export interface ScanReport {
  readonly sessions: number;
  readonly records: number;
  readonly findings: readonly ScanFinding[];
  /** The number of findings that are not listed, because there are too many. */
  readonly more: number;
}

const findingsMax = 10_000;
const aroundChars = 24;

export async function scan(
  deps: Deps,
  logs: AsyncIterable<LogId>,
  options: { readonly whole: boolean; readonly progress?: IndexProgress | undefined },
): Promise<ScanReport> {
  const { store, world } = deps;
  const placeOf = makePlacer(deps);
  const { redactor } = world;
  if (redactor === undefined) throw new Error("invariant: an engine has a redactor");
  const counts = { sessions: 0, records: 0, more: 0 };
  const findings: ScanFinding[] = [];
  const looker = makeLooker(store, redactor);
  for await (const session of logs) {
    const head = await store.head(session);
    // Deleted in the meantime.
    if (head === undefined) continue;
    const { parent } = head;
    const shared = parent !== null && !options.whole && (await store.head(parent.session)) !== undefined;
    if (!isSharedLogId(session)) counts.sessions++;
    const range = [shared ? parent.seq + 1 : 1, head.seq] as const;
    for await (const page of readPages(store, session, range, { contents: true })) {
      for (const record of page) {
        counts.records++;
        for (const found of await looker(record)) {
          const { seq, type } = record;
          if (findings.length >= findingsMax) counts.more++;
          else findings.push({ session, seq, ...(await placeOf(session, seq)), type, ...found });
        }
      }
      options.progress?.({ records: counts.records, sessions: counts.sessions });
    }
  }
  return { sessions: counts.sessions, records: counts.records, findings, more: counts.more };
}

/** Finds the owner of a record, and whether it can be erased here. */
function makePlacer({
  store,
  writer,
}: Deps): (session: LogId, seq: number) => Promise<Pick<ScanFinding, "owner" | "elsewhere">> {
  const known = new Map<LogId, boolean>();
  const livesElsewhere = async (owner: LogId): Promise<boolean> =>
    !isSharedLogId(owner) &&
    ((await store.head(owner))?.copy === true || (await writer.current(owner)).standing.status === "moved");
  return async (session, seq) => {
    let owner = session;
    const passed = new Set<LogId>();
    for (;;) {
      const parent = (await store.head(owner))?.parent ?? null;
      if (parent === null || seq > parent.seq || (await store.head(parent.session)) === undefined) break;
      if (passed.has(owner)) throw new SkeinError("corrupt", `${session} is its own ancestor`);
      passed.add(owner);
      owner = parent.session;
    }
    const elsewhere = known.get(owner) ?? (await livesElsewhere(owner));
    known.set(owner, elsewhere);
    return { owner, elsewhere };
  };
}

export function checkScan(options: ScanOptions): void {
  checkCall("engine.scan", options);
}

type ScanHit = Pick<ScanFinding, "kind" | "registered" | "where" | "preview">;

function makeLooker(store: Store, redactor: Redactor): (record: StoredRecord) => Promise<readonly ScanHit[]> {
  /** A file that many records name is read once. */
  const blobs = new Map<string, readonly ScanHit[]>();

  async function inBlob(hash: string): Promise<readonly ScanHit[]> {
    const known = blobs.get(hash);
    if (known !== undefined) return known;
    const parts: Uint8Array[] = [];
    for await (const chunk of (await store.blob(hash)) ?? []) parts.push(chunk);
    const bytes = unpackedBytes(Buffer.concat(parts));
    const text = textIn(bytes);
    const name = text === null ? secretInBytes(redactor, bytes) : null;
    const found =
      text !== null
        ? inText(redactor, text, "blob")
        : name === null
          ? []
          : [{ kind: name, registered: true, where: "blob" as const, preview: `bytes with ${marker(name)}` }];
    blobs.set(hash, found);
    return found;
  }

  return async (record) => {
    const found: ScanHit[] = [];
    if (redactor.find(record.body).length > 0) {
      const leaves = leavesOf(JSON.parse(record.body)).filter((leaf) => !vocabulary().has(leaf));
      found.push(...leaves.flatMap((leaf) => inText(redactor, leaf, "body")));
    }
    const content = await contentOf(store, record).catch(ifLost);
    if (content === undefined) return found;
    found.push(...inValue(redactor, content));
    const hashes = isForeign(record.type) ? [] : blobsNamed(content);
    for (const hash of hashes) found.push(...(await inBlob(hash)));
    return found;
  };
}

/** `verify` reports damage. */
function ifLost(error: unknown): undefined {
  if (error instanceof SkeinError && (error.code === "corrupt" || error.code === "not-found")) return;
  throw error;
}

function blobsNamed(content: unknown): readonly string[] {
  const { blocks } = (content ?? {}) as { readonly blocks?: unknown };
  if (!Array.isArray(blocks)) return [];
  return (blocks as readonly { readonly blob?: unknown }[]).flatMap((block) =>
    typeof block?.blob === "string" ? [block.blob] : [],
  );
}

/**
 * Exactly what redaction would remove today: the leaves that differ from those of the value without secrets.
 */
function inValue(redactor: Redactor, value: unknown): readonly ScanHit[] {
  const text = JSON.stringify(value);
  const clean = redactor.jsonText(text);
  if (clean === text) return [];
  const [before, after] = [leavesOf(value), leavesOf(JSON.parse(clean))];
  return before.flatMap((leaf, place): readonly ScanHit[] => {
    const redacted = after[place] ?? "";
    if (leaf === redacted) return [];
    const found = inText(redactor, leaf, "content");
    if (found.length > 0) return found;
    const kind = /\[redacted: ([^\][]+)\]/.exec(redacted)?.[1] ?? "secret";
    return [{ kind, registered: false, where: "content", preview: redacted }];
  });
}

function inText(redactor: Redactor, text: string, where: ScanHit["where"]): readonly ScanHit[] {
  const places = redactor.find(text);
  return places.map(({ start, end, name, registered }, place) => {
    const before = text.slice(places[place - 1]?.end ?? 0, start).slice(-aroundChars);
    const after = text.slice(end, places[place + 1]?.start ?? text.length).slice(0, aroundChars);
    const preview = `${before}${marker(name)}${after}`.toWellFormed();
    return { kind: name, registered, where, preview };
  });
}

/** Names of fields and texts, in an order that does not depend on their content. */
function leavesOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...leavesOf(one)]);
}
