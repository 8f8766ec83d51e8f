/**
 * Vectors of texts, for ranking by meaning: derived from an embedding model and kept in the store by the
 * digest of the text, under the record that holds it, so that they are made once and go with an erasure or
 * a rebuild. The engine caches those that it compared last. A provider that fails is left alone for a while;
 * ranking by words goes on.
 */
import { type Cache, makeCache } from "../../core/cache.ts";
import { similarityOf } from "../../core/rank/hybrid.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import type { Embedder } from "../../model/port.ts";
import type { RecordVector } from "../../store/port.ts";
import type { Deps } from "../deps.ts";

export interface Vectors {
  cache: Cache<string, Float32Array>;
  /** The number of erasures in the store when the cache was filled: after another one it is dropped. */
  erasures: number;
  /** Until then the provider is not asked again, after a failure. */
  pausedUntilMs: number;
  /** It failed when it was last asked, and whether an event says so. */
  outage: "untold" | "told" | null;
  clear(): void;
}

/** Between 5,000 and 10,000 vectors: up to 60 MB of 1,536 numbers each. */
export const makeVectors = (): Vectors => ({
  cache: makeCache(cachedMin),
  erasures: 0,
  pausedUntilMs: 0,
  outage: null,
  clear() {
    this.cache = makeCache(cachedMin);
    this.pausedUntilMs = 0;
  },
});

const cachedMin = 5_000;

/** A text by its digest; read only if its vector is missing. */
export interface EmbeddedText {
  readonly id: string;
  readonly digest: string;
  /** The record that holds it, in the log that owns that record. */
  readonly session: LogId;
  readonly seq: number;
  readonly read: () => Promise<string | null>;
}

/** New vectors for one input; the rest are made for later ones. */
const newVectorsMax = 400;
const textCharsMax = 8_000;
const embedMs = 8_000;
const pauseMs = 60_000;

/**
 * By id, from -1 to 1. `failed`: the provider does not answer, and no event says so yet; `down`: one does.
 * Null: there is none.
 */
export async function similaritiesTo(
  deps: Deps,
  query: string,
  texts: readonly EmbeddedText[],
): Promise<ReadonlyMap<string, number> | "failed" | "down" | null> {
  const { embedder } = (await deps.models?.()) ?? {};
  if (embedder === undefined) return null;
  const { vectors } = deps.shared;
  if (deps.world.now() < vectors.pausedUntilMs) return outageOf(vectors);
  const named = texts.map((one) => ({ ...one, digest: deps.world.digest("", one.digest) }));
  const erasures = await readStored(deps, embedder, named);
  try {
    const asked = await inTime(deps, (signal) => queryVector(deps, embedder, query, signal));
    const made = await inTime(deps, (signal) => makeMissing(deps, embedder, named, signal));
    if (made.length > 0) await keep(deps, embedder, made, erasures);
    const found = new Map<string, number>();
    for (const { id, digest } of named) {
      const vector = vectors.cache.get(keyOf(embedder, digest));
      if (vector !== undefined) found.set(id, similarityOf(asked, vector));
    }
    vectors.outage = null;
    return found;
  } catch {
    // Whatever a provider's library throws: an input must not wait for its ranking.
    vectors.pausedUntilMs = deps.world.now() + pauseMs;
    vectors.outage ??= "untold";
    return outageOf(vectors);
  }
}

const outageOf = ({ outage }: Vectors): "failed" | "down" => (outage === "told" ? "down" : "failed");

const keyOf = ({ name }: Embedder, digest: string): string => `${name}\n${digest}`;

/** Those that the store has and the cache lacks; returns the number of erasures. */
async function readStored(
  { store, shared: { vectors } }: Deps,
  embedder: Embedder,
  texts: readonly EmbeddedText[],
): Promise<number> {
  const missing = (): string[] =>
    texts.map(({ digest }) => digest).filter((digest) => !vectors.cache.get(keyOf(embedder, digest)));
  const stored = await store.vectors(embedder.name, missing());
  const { erasures } = stored;
  let found = stored.vectors;
  if (erasures !== vectors.erasures) {
    vectors.cache = makeCache(cachedMin);
    vectors.erasures = erasures;
    found = (await store.vectors(embedder.name, missing())).vectors;
  }
  for (const [digest, vector] of found) vectors.cache.set(keyOf(embedder, digest), vector);
  return erasures;
}

/** In the store, unless something was erased since: then they are only compared now. */
async function keep(
  { store, shared: { vectors } }: Deps,
  embedder: Embedder,
  made: readonly RecordVector[],
  erasures: number,
): Promise<void> {
  for (const { digest, vector } of made) vectors.cache.set(keyOf(embedder, digest), vector);
  await store.putVectors(embedder.name, made, { erasures });
}

async function queryVector(
  deps: Deps,
  embedder: Embedder,
  text: string,
  signal: AbortSignal,
): Promise<Float32Array> {
  const { cache } = deps.shared.vectors;
  const key = keyOf(embedder, deps.world.digest("", text));
  const known = cache.get(key);
  if (known !== undefined) return known;
  const [made = []] = await embedder.embed([text.slice(0, textCharsMax).toWellFormed()], signal);
  const vector = Float32Array.from(made);
  cache.set(key, vector);
  return vector;
}

async function makeMissing(
  deps: Deps,
  embedder: Embedder,
  texts: readonly EmbeddedText[],
  signal: AbortSignal,
): Promise<readonly RecordVector[]> {
  const { cache } = deps.shared.vectors;
  const missing = texts
    .filter(({ digest }) => cache.get(keyOf(embedder, digest)) === undefined)
    .slice(0, newVectorsMax);
  const said: (EmbeddedText & { readonly text: string })[] = [];
  for (const one of missing) {
    const text = await one.read();
    if (text !== null && text.trim() !== "")
      said.push({ ...one, text: text.slice(0, textCharsMax).toWellFormed() });
  }
  if (said.length === 0) return [];
  const made = await embedder.embed(
    said.map(({ text }) => text),
    signal,
  );
  return said.map(({ session, seq, digest }, place) => ({
    session,
    seq,
    digest,
    vector: Float32Array.from(made[place] ?? []),
  }));
}

/** Also of a provider that ignores its signal. */
async function inTime<T>({ world }: Deps, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const [stop, done] = [new AbortController(), new AbortController()];
  const late = world.sleep(embedMs, done.signal).then(() => "late" as const);
  const working = work(stop.signal).then((value) => ({ value }));
  try {
    const first = await Promise.race([working, late]);
    if (first !== "late") return first.value;
    working.catch(() => undefined);
    throw new SkeinError("unavailable", `the embedding model did not answer within ${embedMs} ms`);
  } finally {
    done.abort();
    stop.abort();
  }
}
