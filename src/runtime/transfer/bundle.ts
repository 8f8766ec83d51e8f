/**
 * Export: a session, with its ancestors and optionally its forks, as a bundle that is streamed while it is
 * read.
 */
import { checkCall } from "../../call/check.ts";
import {
  bundleVersion,
  frameKinds,
  lastChunk,
  projectBundleVersion,
  signedText,
  trailerText,
  type BundleManifest,
  type BundleTrailer,
  type ParsedManifest,
} from "../../core/bundle/format.ts";
import { trackMissingContents, type MissingContents } from "../../core/bundle/erased-contents.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, isWorkspaceId, quote, type SessionId } from "../../core/ids.ts";
import { version } from "../../core/version.ts";
import type { Store } from "../../store/port.ts";
import { makeFrameWriter, type FrameWriter } from "./bundle-frame.ts";
import { blobIn, blobsHere, blobsOf, blobText, checkedChunks } from "./move-blob.ts";
import { familyOf, lineageOf, pagesOf, projectLogs, type MovedLog } from "./move-lineage.ts";
import { moveAway } from "./move-step.ts";
import type { Deps } from "../deps.ts";
import { findProject } from "../project/project-reader.ts";
import { byBundle, movedBy, wayTo } from "../read/move-target.ts";

/** Signs texts with an Ed25519 key. Both are base64url, the key as its 32 bytes. */
export interface Signer {
  readonly publicKey: string;
  sign(text: string): string;
}

/** Options of `engine.export`. */
export interface ExportOptions {
  /** The session's forks, theirs, and so on. */
  readonly withForks?: boolean;
  /** The session moves with the bundle: it becomes read-only here. */
  readonly move?: boolean;
  /** With `move`: the id of the one workspace that may take it over. */
  readonly to?: string;
  readonly sign?: Signer;
}

/** Options of `engine.exportProject`. */
export interface ExportProjectOptions {
  readonly sign?: Signer;
}

/** The bytes of lines in a frame. */
const frameBytes = 524_288;

export async function* exportBundle(
  deps: Deps,
  session: SessionId,
  options: ExportOptions = {},
): AsyncGenerator<Uint8Array> {
  checkCall("engine.export", options);
  checkExport(options);
  const { store } = deps;
  // Reads a moving session once before: one that cannot travel must not be moved away first.
  if (options.move === true) await checkContents(store, await lineageOf(store, session));
  const move = options.move === true ? await moveOut(deps, session, options.to) : null;
  const logs = await (options.withForks === true ? familyOf : lineageOf)(store, session);
  yield* writeBundle(deps, { session, project: null, move, logs }, options.sign);
}

/** A project with all its sessions that are here, as a copy. */
export async function* exportProject(
  deps: Deps,
  idOrEnding: string,
  options: ExportProjectOptions = {},
): AsyncGenerator<Uint8Array> {
  checkCall("engine.exportProject", options, { project: idOrEnding });
  const { store, projects } = deps;
  const project = await findProject(projects, idOrEnding);
  const { state, seq, hash } = await projects.read(project);
  const sessions = [...state.sessions.keys()].filter((id) => isSessionId(id));
  const logs = await projectLogs(store, project, { seq, hash, sessions });
  if (logs.length === 1) {
    throw new SkeinError("refused", `export: ${project} has no session in this store`, {
      hint: "open one in it first: skein open --project; or copy the store",
    });
  }
  yield* writeBundle(deps, { session: null, project, move: null, logs }, options.sign);
}

/** What a bundle is of. */
interface Exported extends Pick<ParsedManifest, "session" | "project" | "move"> {
  readonly logs: readonly MovedLog[];
}

async function* writeBundle(
  { store, world }: Deps,
  { session, project, move, logs }: Exported,
  signer: Signer | undefined,
): AsyncGenerator<Uint8Array> {
  const of = project === null ? bundleVersion : projectBundleVersion;
  const manifest: BundleManifest = {
    format: "skein-bundle",
    version: of,
    program: version,
    madeAt: world.now(),
    ...(session === null ? {} : { session }),
    ...(project === null ? {} : { project }),
    move,
    logs: logs.map(({ via: _, ...log }) => log),
  };
  const frames = makeFrameWriter();
  yield frames.begin(of);
  yield* frames.frame(frameKinds.manifest, Buffer.from(JSON.stringify(manifest)));
  const written = new Set<string>();
  const lost = new Set<string>();
  const missing = trackMissingContents(logs);
  let records = 0;
  for (const log of logs) {
    for await (const page of pagesOf(store, log)) {
      for (const record of page) {
        missing.see(log, record);
        yield* newBlobs(store, frames, record, { written, lost });
      }
      for (const payload of payloadsOf(page)) yield* frames.frame(frameKinds.records, payload);
      records += page.length;
      await new Promise<void>((resolve) => world.defer(resolve));
    }
  }
  refuseUnnamed(missing.unnamed());
  const end = { records, blobs: written.size, lost: [...lost], sha256: frames.digest() };
  const trailer: BundleTrailer = {
    ...end,
    signature: signatureOf(signedText({ session, project, move, ...end }), signer),
  };
  yield* frames.frame(frameKinds.trailer, Buffer.from(trailerText(trailer)));
}

async function checkContents(store: Store, logs: readonly MovedLog[]): Promise<void> {
  const missing = trackMissingContents(logs);
  for (const log of logs) {
    for await (const page of pagesOf(store, log)) for (const record of page) missing.see(log, record);
  }
  refuseUnnamed(missing.unnamed());
}

/** No store accepts such a bundle. A session that shares the position may have erased it here. */
function refuseUnnamed(unnamed: ReturnType<MissingContents["unnamed"]>): void {
  if (unnamed === null) return;
  const { session, seq } = unnamed;
  const message = `export: the content of record ${seq} of ${session} is missing, and no record says so`;
  throw new SkeinError("refused", message, {
    hint: `export it where it lives, or fork it here; "skein verify ${session}" says what is missing`,
  });
}

function checkExport({ move = false, withForks = false, to }: ExportOptions): void {
  if (move && withForks) {
    throw new SkeinError("invalid", "export: specify move or withForks, not both", {
      hint: "a bundle moves one session; export its forks separately",
    });
  }
  if (to === undefined) return;
  if (!move) throw new SkeinError("invalid", "export: to: requires move", { hint: "pass move" });
  if (isWorkspaceId(to)) return;
  throw new SkeinError("invalid", `export: to: expected a workspace id, got ${quote(to)}`, {
    hint: 'for example "wsp_…"; "skein stats --json" in the destination store shows it',
  });
}

/** The id of the move. A begun move continues, so that a lost bundle can be made again. */
async function moveOut(deps: Deps, session: SessionId, to: string | undefined): Promise<string> {
  const moved = await movedBy(deps, session);
  if (moved === null) {
    const target = to === undefined ? {} : { to };
    return moveAway(deps, session, { ...target, where: byBundle });
  }
  if (moved.to === to) return moved.move;
  const way = await wayTo(deps.store, session, await deps.writer.current(session));
  throw new SkeinError("refused", `export: ${session} was moved already`, {
    hint: `${way}; or export a copy, without move`,
  });
}

/** Lines of records, as many together as make a frame. */
function* payloadsOf(page: readonly StoredRecord[]): Generator<Uint8Array> {
  let text = "";
  for (const record of page) {
    const line = `${JSON.stringify(record)}\n`;
    if (text.length > 0 && text.length + line.length > frameBytes) {
      yield Buffer.from(text);
      text = "";
    }
    text += line;
  }
  if (text !== "") yield Buffer.from(text);
}

async function* newBlobs(
  store: Store,
  frames: FrameWriter,
  record: StoredRecord,
  { written, lost }: { readonly written: Set<string>; readonly lost: Set<string> },
): AsyncGenerator<Uint8Array> {
  const refers = await blobsOf(record, (blob) => blobText(store, blob));
  for (const hash of await blobsHere(store, refers, (blob) => void lost.add(blob))) {
    if (written.has(hash)) continue;
    written.add(hash);
    const name = Buffer.from(hash, "hex");
    let before: Uint8Array | null = null;
    for await (const chunk of checkedChunks(hash, await blobIn(store, hash))) {
      if (before !== null) yield* frames.frame(frameKinds.blob, Buffer.concat([name, before]));
      before = chunk;
    }
    yield* frames.frame(frameKinds.blob, Buffer.concat([name, before ?? new Uint8Array(0)]), lastChunk);
  }
}

const signatureOf = (text: string, signer: Signer | undefined): BundleTrailer["signature"] =>
  signer === undefined ? null : { publicKey: signer.publicKey, signature: signer.sign(text) };
