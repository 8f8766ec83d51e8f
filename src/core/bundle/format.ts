/**
 * The bundle: sessions in one file, a permanent format. docs/bundle-format.md specifies it for other
 * programs.
 *
 * A file is the line `skein-bundle 2` and a sequence of frames: a header of 12 bytes, then the payload.
 * Version 1 differs only in its signature and its trailer, and stays readable forever. Version 3 is a project
 * with its sessions; a session alone stays version 2, which older programs read.
 *
 *   kind     1 byte   M manifest, L records, B a chunk of a blob, T trailer
 *   flags    1 byte   1: the payload is compressed (zstd); 2: the last chunk of its blob
 *   zero     2 bytes
 *   size     4 bytes  length of the unpacked payload, big endian
 *   stored   4 bytes  length of the payload in the file, big endian
 *
 * M comes first and T last, each once. Between them are the logs in the order of the manifest, each log's
 * records in order of seq, and every blob before the records that refer to it. A payload of L is lines as in
 * an export (docs/log-format.md); of B, the 32 bytes of the blob's hash and then bytes of it.
 */
import { Count, Key, Millis, ProjectRef, Seq, SessionRef, Sha256 } from "../schema.ts";
import * as z from "zod";
import { headerField, type StoredRecord } from "../chain.ts";
import { SkeinError } from "../error.ts";
import { isProjectId, parseSessionId, quote, type ProjectId, type SessionId } from "../ids.ts";
import { limit } from "../limit.ts";

/** Version 1 signs the heads of the logs, version 2 the whole file; version 3 has a project. */
export type BundleVersion = 1 | 2 | 3;
/** Of a session, and of a project. */
export const bundleVersion = 2;
export const projectBundleVersion = 3;
export const bundleLineOf = (version: BundleVersion): string => `skein-bundle ${version}\n`;
export const bundleLine = bundleLineOf(bundleVersion);
const bundleLines: ReadonlyMap<string, BundleVersion> = new Map(
  ([1, bundleVersion, projectBundleVersion] as const).map((version) => [bundleLineOf(version), version]),
);
/** The longest first line of any version. */
export const bundleLineBytesMax = 32;
export const frameHeaderBytes = 12;

export const frameKinds = { manifest: "M", records: "L", blob: "B", trailer: "T" } as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

export const packed = 1;
export const lastChunk = 2;

/**
 * The most that all frames so far may unpack to, for so many bytes in the file: a small bundle cannot fill a
 * disk before it is verified. A writer leaves a frame uncompressed rather than exceed it.
 */
export const unpackedMax = (storedBytes: number): number => 67_108_864 + 64 * storedBytes;

const Place = z.strictObject({ session: SessionRef, seq: Seq });

const Log = z.strictObject({
  session: z.union([SessionRef, ProjectRef]),
  /** As its first record names it; null if it is not a fork. */
  parent: Place.nullable(),
  /** The log that holds the record at `parent.seq`. */
  base: SessionRef.nullable(),
  fromSeq: Seq,
  toSeq: Seq,
  /** Of the record at `toSeq`. */
  hash: Sha256,
  /**
   * `session`: a whole session at that time. `prefix`: the part that others in the bundle share. `project`:
   * the log of the project, the first of a version 3 bundle.
   */
  kind: z.enum(["session", "prefix", "project"]),
});

const Manifest = z.looseObject({
  format: z.literal("skein-bundle"),
  version: z.literal([1, 2, 3]),
  /** The version of Skein that made it. */
  program: z.string().max(64),
  madeAt: Millis,
  /** The session that was exported; absent in version 3. */
  session: SessionRef.optional(),
  /** The project that was exported; only in version 3. */
  project: ProjectRef.optional(),
  /** The move that a target can complete; null for a copy. */
  move: Key.nullable(),
  logs: z.array(Log).min(1),
});

const publicKeyForm = /^[A-Za-z0-9_-]{43}$/;

const Trailer = z.looseObject({
  records: Count,
  blobs: Count,
  /** Blobs that blocks refer to and that were already lost in the source store. */
  lost: z.array(Sha256),
  /** Of everything before the trailer's frame. */
  sha256: Sha256,
  signature: z
    .strictObject({ publicKey: z.string().regex(publicKeyForm), signature: z.string().max(128) })
    .nullable(),
});

export type BundleManifest = z.infer<typeof Manifest>;
export type BundleTrailer = z.infer<typeof Trailer>;

/** A log of a bundle: the exported part, and where it continues from. */
export interface BundleLog {
  readonly session: SessionId | ProjectId;
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  readonly base: SessionId | null;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly hash: string;
  readonly kind: "session" | "prefix" | "project";
}

/** The version in the first line; throws for a version that this program cannot read. */
export function parseBundleLine(line: string): BundleVersion {
  const known = bundleLines.get(line);
  if (known !== undefined) return known;
  const [, version] = /^skein-bundle (\d{1,9})\n/.exec(line) ?? [];
  if (version === undefined)
    throw new SkeinError("invalid", "not a Skein bundle: the first line is not skein-bundle");
  const message = `bundle version ${version} is too new; this Skein reads up to ${projectBundleVersion}`;
  throw new SkeinError("refused", message, {
    hint: "update Skein; the store is unchanged",
  });
}

/** Invalid input: no stored data is damaged. */
export const bundleFlaw = (what: string, cause?: unknown): SkeinError =>
  new SkeinError("invalid", `the bundle is damaged: ${what}`, {
    hint: "export it again from its source; the store is unchanged",
    cause,
  });

export function parseTrailer(text: string, version: BundleVersion): BundleTrailer {
  const trailer = parsed("the trailer", Trailer, text);
  // No signature covers the bytes of the trailer itself, so it has only one valid spelling.
  if (version > 1 && trailerText(trailer) !== text) throw bundleFlaw("the trailer is not in canonical form");
  return trailer;
}

/** The trailer as version 2 writes it: these fields, in this order, without white space. */
export const trailerText = ({ records, blobs, lost, sha256, signature }: BundleTrailer): string =>
  JSON.stringify({
    records,
    blobs,
    lost,
    sha256,
    signature: signature && { publicKey: signature.publicKey, signature: signature.signature },
  });

/** A valid manifest: each log builds on those before it. */
export interface ParsedManifest {
  readonly version: BundleVersion;
  readonly program: string;
  readonly madeAt: number;
  /** Exactly one of them. */
  readonly session: SessionId | null;
  readonly project: ProjectId | null;
  readonly move: string | null;
  readonly logs: readonly BundleLog[];
}

export function parseManifest(text: string, version: BundleVersion): ParsedManifest {
  const manifest = parsed("the manifest", Manifest, text);
  if (manifest.version !== version)
    throw bundleFlaw("the manifest and the first line name different versions");
  const known = new Map<string, BundleLog>();
  for (const log of manifest.logs) {
    const { parent, base } = log;
    const from = base === null ? undefined : known.get(base);
    const follows =
      parent === null
        ? base === null && log.fromSeq === 1
        : from !== undefined && log.fromSeq === parent.seq + 1 && holds(from, parent.seq);
    if (known.has(log.session) || !follows || log.toSeq < log.fromSeq) {
      throw bundleFlaw(`the manifest lists ${log.session} out of order`);
    }
    known.set(log.session, logOf(log));
  }
  const logs = [...known.values()];
  const { program, madeAt, move } = manifest;
  return { version, program, madeAt, ...subjectOf(manifest, version, logs), move, logs };
}

/** What was exported: a session, or in version 3 a project, whose log is the first. */
function subjectOf(
  { session, project, move }: BundleManifest,
  version: BundleVersion,
  logs: readonly BundleLog[],
): Pick<ParsedManifest, "session" | "project"> {
  const projects = logs.filter(({ kind }) => kind === "project");
  if (version !== projectBundleVersion) {
    const listed = logs.find((log) => log.session === session);
    if (session === undefined || listed?.kind !== "session" || projects.length > 0)
      throw bundleFlaw("the manifest does not list the exported session");
    return { session: parseSessionId(session), project: null };
  }
  const [first] = logs;
  if (!logs.some(({ kind }) => kind === "session"))
    throw bundleFlaw("the manifest lists no session of the project");
  if (project === undefined || session !== undefined || move !== null || projects.length !== 1)
    throw bundleFlaw("the manifest does not describe a project");
  if (
    first?.kind !== "project" ||
    first.session !== project ||
    first.parent !== null ||
    !isProjectId(project)
  )
    throw bundleFlaw("the manifest does not list the exported project first");
  return { session: null, project };
}

const holds = ({ fromSeq, toSeq }: BundleLog, seq: number): boolean => fromSeq <= seq && seq <= toSeq;

const logOf = ({ session, parent, base, ...rest }: z.infer<typeof Log>): BundleLog => ({
  ...rest,
  session: rest.kind === "project" && isProjectId(session) ? session : parseSessionId(session),
  parent: parent && { session: parseSessionId(parent.session), seq: parent.seq },
  base: base === null ? null : parseSessionId(base),
});

function parsed<T extends z.ZodType>(what: string, schema: T, text: string): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw bundleFlaw(`${what} is not JSON`, cause);
  }
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw bundleFlaw(`${what} has an invalid field ${quote(issue?.path.join(".") ?? "")}`, checked.error);
}

/**
 * The text that a version 2 signature covers. The digest is of every byte before the trailer, so it signs
 * manifest, records, contents and blobs; the list of lost blobs is in the trailer and is signed here.
 */
export const signedText = ({
  session,
  project,
  move,
  sha256,
  lost,
}: Pick<ParsedManifest, "session" | "project" | "move"> & Pick<BundleTrailer, "sha256" | "lost">): string =>
  [
    `skein-bundle ${project === null ? bundleVersion : projectBundleVersion}`,
    project === null ? `session ${session}` : `project ${project}`,
    `move ${move ?? ""}`,
    `sha256 ${sha256}`,
    ...lost.map((hash) => `lost ${hash}`),
    "",
  ].join("\n");

/** The text that a version 1 signature covers: the head of every log in the bundle, and the move. */
export const signedHeads = (manifest: {
  readonly move: string | null;
  readonly logs: readonly (Pick<BundleLog, "toSeq" | "hash"> & { readonly session: string })[];
}): string =>
  [
    "skein-heads 1",
    ...manifest.logs.map(({ session, toSeq, hash }) => `${session} ${toSeq} ${hash}`),
    `move ${manifest.move ?? ""}`,
    "",
  ].join("\n");

const hex = (digits: number): RegExp => new RegExp(`^[0-9a-f]{${digits}}$`);
const [hash32, hash16] = [hex(64), hex(32)];

/** A line of a log, with every field validated. The chain verifies the hashes. */
export function parseRecord(line: string): StoredRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw bundleFlaw("a record is not JSON", cause);
  }
  if (typeof value !== "object" || value === null) throw bundleFlaw("a record is not an object");
  const fields = value as Readonly<Record<keyof StoredRecord, unknown>>;
  const wrong = wrongField(fields);
  if (wrong !== null) throw bundleFlaw(`record ${quote(fields.seq)} has an invalid ${wrong}`);
  const { session, seq, at, type, v, actor, turn, cause, key, body } = fields as StoredRecord;
  const { contentHash, contentBytes, hash, salt, content } = fields as StoredRecord;
  const header = { session, seq, at, type, v, actor, turn, cause, key, body };
  return { ...header, contentHash, contentBytes, hash, salt, content };
}

type Check = (value: unknown) => boolean;
const isWhole: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isField: Check = (value) => typeof value === "string" && headerField.test(value);
const like =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
/** A text's UTF-16 length is at most its length in bytes. */
const isText =
  (charsMax: number): Check =>
  (value) =>
    typeof value === "string" && value.length <= charsMax && value.isWellFormed();

const checks: Readonly<Record<keyof StoredRecord, Check>> = {
  session: like(/^(?:ses|prj)_[0-9a-hjkmnp-tv-z]{26}$/),
  seq: isWhole,
  at: isWhole,
  type: isField,
  v: isWhole,
  actor: isField,
  turn: orNull(isWhole),
  cause: orNull(isWhole),
  key: orNull(like(hash16)),
  body: isText(limit.bodyBytesMax),
  contentHash: orNull(like(hash32)),
  contentBytes: orNull(isWhole),
  hash: like(hash32),
  salt: orNull(like(hash16)),
  content: orNull(isText(limit.contentBytesMax)),
};
const names = Object.keys(checks) as (keyof StoredRecord)[];

function wrongField(fields: Readonly<Record<keyof StoredRecord, unknown>>): string | null {
  return names.find((name) => !checks[name](fields[name])) ?? null;
}
