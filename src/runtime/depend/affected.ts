/**
 * Which sessions depend on a path, on what a commit changed, or on a table. The search index holds a word for
 * each source of each record (core/depend); what it finds is read and compared.
 */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import {
  dependenciesOf,
  dependencyWord,
  fileName,
  sourceNames,
  tableName,
  wordEnding,
  type Dependency,
} from "../../core/depend/dependency.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import { isSessionId, quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { git } from "../../platform/git.ts";
import type { Store } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";
import { catchUp, type IndexProgress } from "../read/projection.ts";
import type { Deps } from "../deps.ts";
import { digestAt, documentDigest, type SourceNow } from "./source-now.ts";

/** What may affect sessions: exactly one of path, commit and table. */
export interface AffectedBy {
  /** A file, or a directory with everything below it. */
  readonly path?: string;
  /** A commit: the files that it changed. */
  readonly commit?: string;
  /** The directory of the commit's repository; by default the current one. */
  readonly repository?: string;
  /** A table of any bound database. */
  readonly table?: string;
  readonly progress?: IndexProgress;
}

/** A session that depends on it: its last read of one source. */
export interface AffectedRow extends Pick<Dependency, "kind" | "source" | "digest" | "seq" | "at"> {
  readonly session: SessionId;
  /** Of a file: whether it has changed since. */
  readonly now: SourceNow;
}

/** The newest read first. */
export async function affectedBy(deps: Deps, by: AffectedBy): Promise<readonly AffectedRow[]> {
  const names = await namesOf(deps, by);
  await catchUp(deps.store, deps.states, by.progress);
  const found = new Map<string, Omit<AffectedRow, "now">>();
  for (const name of new Set(names))
    for (const { session, seq } of await hitsOf(deps.store, dependencyWord(name)))
      for (const one of await readDependencies(deps.store, session, seq)) {
        if (!sourceNames(one).includes(name)) continue;
        const { kind, source, digest, at } = one;
        const key = JSON.stringify([session, kind, source]);
        if ((found.get(key)?.seq ?? 0) < seq) found.set(key, { session, kind, source, digest, seq, at });
      }
  const digests = new Map<string, Promise<string | null>>();
  const digestOf = ({ kind, source }: Pick<Dependency, "kind" | "source">): Promise<string | null> => {
    const key = `${kind} ${source}`;
    const known = digests.get(key) ?? (kind === "file" ? digestAt : documentDigest)(deps, source);
    digests.set(key, known);
    return known;
  };
  const rows: AffectedRow[] = [];
  for (const row of found.values()) {
    const isFile = row.kind === "file" || row.kind === "document";
    const digest = isFile ? await digestOf(row) : null;
    const now = !isFile
      ? "unknown"
      : digest === null
        ? "missing"
        : digest === row.digest
          ? "same"
          : "changed";
    rows.push({ ...row, now });
  }
  return rows.toSorted((a, b) => b.at - a.at || b.seq - a.seq);
}

async function namesOf(deps: Deps, { path, commit, repository = ".", table }: AffectedBy): Promise<string[]> {
  if ([path, commit, table].filter((one) => one !== undefined).length !== 1)
    throw new SkeinError("invalid", "affected: specify exactly one of path, commit or table", {
      hint: "for example skein affected rates.json, or --table employees",
    });
  if (table !== undefined) return [tableName(table.split(".").at(-1) ?? table)];
  if (path !== undefined) return namesOfPath(path);
  return (await changedIn(deps, commit ?? "", repository)).map(fileName);
}

/** As it is written, and with links resolved: documents and tools name files in these two ways. */
async function namesOfPath(path: string): Promise<string[]> {
  const whole = resolve(path);
  const real = await realpath(whole).catch(() => whole);
  return [fileName(whole), fileName(real)];
}

/** Absolute paths of the files that a commit added, changed or removed. */
async function changedIn({ world }: Deps, commit: string, repository: string): Promise<string[]> {
  if (commit.startsWith("-"))
    throw new SkeinError("invalid", `affected: commit: expected a commit, got ${quote(commit)}`);
  const within = resolve(repository);
  const root = await git(world, within, ["rev-parse", "--show-toplevel"]);
  if (root.code !== 0)
    throw new SkeinError("not-found", `affected: ${quote(within)} is not in a Git repository`, {
      hint: "pass the directory of the repository",
    });
  const top = root.stdout.trimEnd();
  const how = ["-r", "-m", "-z", "--root", "--no-commit-id", "--name-only"];
  const changed = await git(world, top, ["diff-tree", ...how, `${commit}^{commit}`]);
  if (changed.code !== 0)
    throw new SkeinError("not-found", `affected: there is no commit ${quote(commit)} in ${quote(top)}`, {
      hint: '"git log" lists the commits',
    });
  const paths = changed.stdout.split("\0").filter((one) => one !== "");
  return [...new Set(paths)].map((one) => resolve(top, one));
}

interface Hit {
  readonly session: SessionId;
  readonly seq: number;
}

/** Of too many matches, those of sessions with each last letter are asked for by themselves. */
async function hitsOf(store: Store, word: string, letters = 0): Promise<readonly Hit[]> {
  const found = await store.search(`${word}*`, { limit: limit.searchMax });
  if (found.length < limit.searchMax || letters >= wordEnding)
    return found.flatMap(({ session, seq }) => (isSessionId(session) ? [{ session, seq }] : []));
  const all: Hit[] = [];
  for (const letter of idLetters) all.push(...(await hitsOf(store, `${word}${letter}`, letters + 1)));
  return all;
}

/** Of ids: Crockford's base 32. */
const idLetters = "0123456789abcdefghjkmnpqrstvwxyz";

async function readDependencies(
  store: Store,
  session: SessionId,
  seq: number,
): Promise<readonly Dependency[]> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  if (record === undefined) return [];
  const { event, kind } = readEvent(record, false);
  const content = await contentOf(store, record);
  return kind === "known" ? dependenciesOf({ ...event, content } as SessionLogEvent) : [];
}
