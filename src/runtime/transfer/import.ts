/**
 * Import: reads a bundle once, from the first byte to the last. Everything is verified as it arrives, and
 * stays invisible until the last of it has been verified; on an error, all of it is discarded.
 */
import type { MoveBody } from "../../core/session/commands.ts";
import { createPublicKey, verify } from "node:crypto";
import {
  bundleFlaw,
  frameKinds,
  lastChunk,
  parseManifest,
  parseRecord,
  parseTrailer,
  signedHeads,
  signedText,
  type BundleLog,
  type BundleTrailer,
  type ParsedManifest,
} from "../../core/bundle/format.ts";
import { trackMissingContents, type MissingContents } from "../../core/bundle/erased-contents.ts";
import { checkOptions, SkeinError } from "../../core/error.ts";
import { isSessionId, type LogId, type ProjectId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { isUnreviewed } from "../../core/govern/review.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { readFrames, type BundleFrame } from "./bundle-frame.ts";
import { checkedChunks } from "./move-blob.ts";
import { makeReceiver, type LogReceiver } from "./move-receive.ts";
import { watchedChunks } from "../log/redact.ts";
import { arriveHere } from "./move-step.ts";
import { writeWorkspace } from "../log/workspace-log.ts";
import { reviewOf, type SessionReview } from "../govern/review.ts";
import type { Deps } from "../deps.ts";
import { byBundle } from "../read/move-target.ts";

/** Options of `engine.import`. */
export interface ImportOptions {
  /** Public keys, base64url: a bundle without a signature of one of them is refused. */
  readonly signedBy?: readonly string[];
  /** Public keys, base64url: a moved session is live at once only with a signature of one of them. */
  readonly trusted?: readonly string[];
}

/** The result of `engine.import`. */
export interface ImportReport {
  /** The session of the bundle; of a project's, the first of its sessions. */
  readonly session: SessionId;
  /** The project of the bundle; null for a bundle of a session. */
  readonly project: ProjectId | null;
  /** `own`: it lives here now. `copy`: it can be read and forked. */
  readonly as: "own" | "copy";
  /** All sessions of the bundle; shared prefixes do not count. */
  readonly sessions: readonly SessionId[];
  /** New records. */
  readonly records: number;
  readonly blobs: number;
  /** True when all of it existed, and nothing changed. */
  readonly already: boolean;
  /** The public key that signed it. The signature is valid; it does not say whose key it is. */
  readonly signedBy: string | null;
  /** True when a trusted key signed it. */
  readonly trusted: boolean;
  /** It lives here, and is suspended until a person has reviewed and activated it. */
  readonly suspended: boolean;
  /** What each of its sessions would act with: bindings, rules, triggers, queued input. */
  readonly review: readonly SessionReview[];
  /** What the importer should know; null when there is nothing. */
  readonly warning: string | null;
}

export async function importBundle(
  deps: Deps,
  source: AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  checkOptions("import", options, ["signedBy", "trusted"]);
  const { store, world } = deps;
  const receiver = makeReceiver(store, world);
  const blobs = new Set<string>();
  try {
    const { manifest, trailer } = await readAll(deps, receiver, readFrames(source), blobs);
    const signedBy = signerOf(manifest, trailer);
    if (options.signedBy !== undefined && (signedBy === null || !options.signedBy.includes(signedBy))) {
      throw new SkeinError("refused", "import: the bundle is not signed by a trusted key", {
        hint: signedBy === null ? "the bundle is not signed" : `the bundle is signed by ${signedBy}`,
      });
    }
    const warnings = signedBy !== null && manifest.version === 1 && trailer.lost.length > 0 ? [unsigned] : [];
    const known = [...(options.signedBy ?? []), ...(options.trusted ?? [])];
    const trusted = signedBy !== null && known.includes(signedBy);
    const checked = { signedBy, trusted, blobs: blobs.size, warnings };
    const report = await settle(deps, receiver, manifest, checked);
    // Blobs that only erased records refer to must not stay.
    for (const hash of blobs) await store.dropBlob(hash);
    return report;
  } catch (error) {
    await giveBack(deps, receiver, blobs);
    throw ofBundle(error);
  }
}

/** Damage of what was received is damage of the bundle; the store's own damage is reported as it is. */
const ofBundle = (error: unknown): unknown =>
  error instanceof SkeinError && error.detail === "received" ? bundleFlaw(error.message, error) : error;

async function readAll(
  deps: Deps,
  receiver: LogReceiver,
  frames: AsyncGenerator<BundleFrame, undefined>,
  blobs: Set<string>,
): Promise<{ readonly manifest: ParsedManifest; readonly trailer: BundleTrailer }> {
  const first = await frames.next();
  if (first.done === true || first.value.kind !== frameKinds.manifest) {
    throw bundleFlaw("the manifest is missing");
  }
  const manifest = parseManifest(textOf(first.value), first.value.version);
  const missing = trackMissingContents(manifest.logs);
  const logs = manifest.logs[Symbol.iterator]();
  let log = await beginNext(receiver, logs.next().value);
  const came = new Set<string>();
  let records = 0;
  for await (const frame of frames) {
    switch (frame.kind) {
      case frameKinds.blob:
        if (log === null) throw bundleFlaw("a blob follows the last record");
        await takeBlob(deps, frame, frames, { came, blobs, session: log.session });
        break;
      case frameKinds.records:
        for (const record of recordsOf(frame)) {
          if (log === null) throw bundleFlaw("more records than the manifest lists");
          checkSecrets(deps, log.session, record);
          missing.see(log, record);
          await receiver.add(record);
          records++;
          if (record.seq < log.toSeq) continue;
          await receiver.end();
          log = await beginNext(receiver, logs.next().value);
        }
        break;
      case frameKinds.trailer:
        if (log !== null) throw bundleFlaw(`records of ${log.session} are missing`);
        checkContents(missing.unnamed());
        return { manifest, trailer: await lastOf(frame, frames, { records, came, receiver }) };
      case frameKinds.manifest:
        throw bundleFlaw("a second manifest");
    }
  }
  throw bundleFlaw("the file is truncated");
}

/** The log names an erased content; a missing one without that was stripped on the way. */
function checkContents(unnamed: ReturnType<MissingContents["unnamed"]>): void {
  if (unnamed === null) return;
  const { session, seq } = unnamed;
  throw bundleFlaw(`the content of record ${seq} of ${session} is missing, and no content.erased names it`);
}

async function beginNext(receiver: LogReceiver, log: BundleLog | undefined): Promise<BundleLog | null> {
  if (log === undefined) return null;
  await receiver.begin(log, { whole: true });
  return log;
}

function textOf({ payload }: BundleFrame): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload);
  } catch (cause) {
    throw bundleFlaw("a text is not valid UTF-8", cause);
  }
}

function* recordsOf(frame: BundleFrame) {
  const text = textOf(frame);
  if (!text.endsWith("\n")) throw bundleFlaw("a record is truncated");
  for (let from = 0; from < text.length;) {
    const end = text.indexOf("\n", from);
    yield parseRecord(text.slice(from, end));
    from = end + 1;
  }
}

async function lastOf(
  frame: BundleFrame,
  frames: AsyncGenerator<BundleFrame, undefined>,
  found: { readonly records: number; readonly came: ReadonlySet<string>; readonly receiver: LogReceiver },
): Promise<BundleTrailer> {
  const { lost, referred } = found.receiver;
  const trailer = parseTrailer(textOf(frame), frame.version);
  if (trailer.sha256 !== frame.digestBefore()) throw bundleFlaw("the digest does not match");
  if (trailer.records !== found.records || trailer.blobs !== found.came.size) {
    throw bundleFlaw("the counts in the trailer do not match");
  }
  const unused = [...found.came].find((hash) => !referred.has(hash));
  if (unused !== undefined) throw bundleFlaw(`no record refers to blob ${unused}`);
  const known = new Set(trailer.lost);
  const missing = [...lost].find((hash) => !known.has(hash));
  if (missing !== undefined) throw bundleFlaw(`blob ${missing} is missing`);
  if ((await frames.next()).done !== true) throw bundleFlaw("data follows the trailer");
  return trailer;
}

/** A record's hash covers its text: a secret cannot be removed, so the record is refused. */
function checkSecrets({ world }: Deps, session: LogId, record: StoredRecord): void {
  const { body, content, seq } = record;
  const name = world.redactor?.registeredIn(`${body}\n${content ?? ""}`) ?? null;
  if (name !== null) throw holdsSecret(`record ${session}@${seq}`, name);
}

const holdsSecret = (what: string, name: string): SkeinError =>
  new SkeinError("refused", `${what} of the bundle holds the secret ${name}`, {
    hint: "nothing was changed; erase it where the bundle comes from, and export it again",
  });

const hashBytes = 32;

/** The chunks of one blob stand together. They are hashed on the way in, also when the blob exists. */
async function takeBlob(
  { store, world }: Deps,
  first: BundleFrame,
  frames: AsyncGenerator<BundleFrame, undefined>,
  {
    came,
    blobs,
    session,
  }: { readonly came: Set<string>; readonly blobs: Set<string>; readonly session: LogId },
): Promise<void> {
  if (first.payload.length < hashBytes) throw bundleFlaw("a blob chunk has no hash");
  const hash = Buffer.from(first.payload.subarray(0, hashBytes)).toString("hex");
  if (came.has(hash)) throw bundleFlaw(`blob ${hash} occurs twice`);
  came.add(hash);
  const checked = checkedChunks(hash, chunksOf(hash, first, frames));
  const chunks = watchedChunks(world, checked, (name) => holdsSecret(`a blob of ${session}`, name));
  if ((await store.blob(hash)) === undefined) {
    blobs.add(hash);
    await store.putBlob(hash, chunks);
  }
  // Another writer stored the same blob meanwhile.
  for await (const _ of chunks) continue;
}

async function* chunksOf(
  hash: string,
  first: BundleFrame,
  frames: AsyncGenerator<BundleFrame, undefined>,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for (let frame = first; ;) {
    const { kind, flags, payload } = frame;
    const name = Buffer.from(payload.subarray(0, hashBytes)).toString("hex");
    if (kind !== frameKinds.blob || name !== hash) throw bundleFlaw(`blob ${hash} is truncated`);
    total += payload.length - hashBytes;
    if (total > limit.blobBytesMax) throw bundleFlaw(`blob ${hash} exceeds the size limit`);
    yield payload.subarray(hashBytes);
    if ((flags & lastChunk) !== 0) return;
    const next = await frames.next();
    if (next.done === true) throw bundleFlaw("the file is truncated");
    frame = next.value;
  }
}

function signerOf(manifest: ParsedManifest, trailer: BundleTrailer): string | null {
  const { signature } = trailer;
  if (signature === null) return null;
  const { publicKey } = signature;
  const isFirst = manifest.version === 1;
  if (!isFirst && !(isBase64url(publicKey, 32) && isBase64url(signature.signature, 64))) {
    throw bundleFlaw("the signature is not in canonical form");
  }
  const text = Buffer.from(isFirst ? signedHeads(manifest) : signedText({ ...manifest, ...trailer }));
  let right: boolean;
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
    right = verify(null, text, key, Buffer.from(signature.signature, "base64url"));
  } catch (cause) {
    throw bundleFlaw("the signature cannot be read", cause);
  }
  if (!right) throw bundleFlaw("the signature does not match");
  return publicKey;
}

/** True when a text is the canonical spelling of so many bytes. */
function isBase64url(text: string, length: number): boolean {
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === length && bytes.toString("base64url") === text;
}

interface CheckedBundle {
  readonly signedBy: string | null;
  readonly trusted: boolean;
  readonly blobs: number;
  readonly warnings: readonly string[];
}

/** Everything is verified: it becomes visible, and a moved session is live here. */
async function settle(
  deps: Deps,
  receiver: LogReceiver,
  manifest: ParsedManifest,
  checked: CheckedBundle,
): Promise<ImportReport> {
  const { store, world, writer, actor } = deps;
  const { move, session } = manifest;
  if (session === null) return settleProject(deps, receiver, manifest, checked);
  const main = manifest.logs.find((log) => log.session === session);
  if (main === undefined) throw new Error("invariant: the manifest has its session");
  await foldAll(receiver, manifest);
  const moved = move === null ? null : await checkMove(deps, receiver, { session, toSeq: main.toSeq }, move);
  const untrusted = !checked.trusted;
  await receiver.finish((log) => {
    if (log.kind === "prefix") return "prefix";
    return move !== null && log === main ? "own" : "copy";
  });
  writer.forget(session);
  const arrived =
    move !== null &&
    (await arriveHere({ store, world, writer, actor }, session, { move, where: byBundle, untrusted }));
  const head = await store.head(session);
  const { records } = receiver.put;
  const as = head?.copy === true ? "copy" : "own";
  const now = as === "own" ? await writer.current(session) : null;
  const usable = arrived && moved?.to === undefined ? [usedUp] : [];
  return {
    session,
    project: null,
    as,
    ...(await reviewAll(deps, receiver, manifest)),
    records,
    blobs: checked.blobs,
    already: records === 0 && !arrived,
    signedBy: checked.signedBy,
    trusted: checked.trusted,
    suspended: now !== null && isUnreviewed(now),
    warning: [...checked.warnings, ...usable].join("; ") || null,
  };
}

/** A project and its sessions arrive as copies. It is listed last, so that a list never lacks its log. */
async function settleProject(
  deps: Deps,
  receiver: LogReceiver,
  manifest: ParsedManifest,
  { signedBy, trusted, blobs, warnings }: CheckedBundle,
): Promise<ImportReport> {
  const { store, projects } = deps;
  const { project } = manifest;
  if (project === null) throw new Error("invariant: a bundle is of a session or a project");
  await foldAll(receiver, manifest);
  await receiver.finish(({ kind }) => (kind === "prefix" ? "prefix" : "copy"));
  await writeWorkspace(deps, async () =>
    (await projects.ids()).includes(project) ? [] : [{ type: "project.listed", body: { project } }],
  );
  const { records } = receiver.put;
  const { sessions, review } = await reviewAll(deps, receiver, manifest);
  const [session] = sessions;
  if (session === undefined) throw new Error("invariant: a project's bundle has a session");
  return {
    session,
    project,
    as: (await store.head(project))?.copy === true ? "copy" : "own",
    sessions,
    review,
    records,
    blobs,
    already: records === 0,
    signedBy,
    trusted,
    suspended: false,
    warning: warnings.join("; ") || null,
  };
}

/** Folding all of them shows that each can be read. */
async function foldAll(receiver: LogReceiver, { logs }: ParsedManifest): Promise<void> {
  for (const { session } of logs)
    if (isSessionId(session)) await receiver.state(session).catch(unreadable(session));
}

async function reviewAll(
  { store }: Deps,
  receiver: LogReceiver,
  { logs }: ParsedManifest,
): Promise<Pick<ImportReport, "sessions" | "review">> {
  const whole = logs.filter(({ kind }) => kind === "session").map(({ session }) => session);
  const sessions = whole.filter((session) => isSessionId(session));
  const review: SessionReview[] = [];
  for (const one of sessions) review.push(await reviewOf(store, one, await receiver.state(one)));
  return { sessions, review };
}

/**
 * Images and files that a block names may be missing in the exporting store; version 1 does not sign which.
 */
const unsigned =
  "images or files are missing, and the signature of a version 1 bundle does not say that they were " +
  "missing when it was signed; export it again with this version of Skein";

/** A bundle without a workspace can be imported into several stores. */
const usedUp =
  "the bundle is consumed, and names no workspace: any other store that imports it, " +
  "also the one it came from, has a second live session; delete it";

const unreadable = (session: SessionId) => (error: unknown) => {
  throw bundleFlaw(`${session} cannot be read`, error);
};

/** A move ends with the record that says so, and leads here if it names a destination. */
async function checkMove(
  { store }: Deps,
  receiver: LogReceiver,
  { session, toSeq }: { readonly session: SessionId; readonly toSeq: number },
  move: string,
): Promise<MoveBody> {
  const { standing, seq } = await receiver.state(session);
  const range = { fromSeq: toSeq, toSeq, limit: 1, contents: false, received: true } as const;
  const [last] = await store.read(session, range);
  const moved = last?.type === "session.moved" ? (JSON.parse(last.body) as MoveBody) : null;
  if (standing.status !== "moved" || seq !== toSeq || moved?.move !== move) {
    throw bundleFlaw(`${session} was not moved by the move in the manifest`);
  }
  if (moved.to === undefined || moved.to === store.workspace) return moved;
  throw new SkeinError(
    "refused",
    `import: ${session} was moved to another store, with workspace ${moved.to}`,
    {
      hint: "import it there; a copy (exported without move) can be imported anywhere",
    },
  );
}

async function giveBack({ store }: Deps, receiver: LogReceiver, blobs: ReadonlySet<string>): Promise<void> {
  try {
    await receiver.discard();
    for (const hash of blobs) await store.dropBlob(hash);
  } catch {
    // What could not be discarded is swept within a day, and was never visible.
  }
}
