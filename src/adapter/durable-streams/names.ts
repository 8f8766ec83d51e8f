/** Streams by the last segment of their path: a session's id, or the name that a PUT gave to a fork. */
import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { ProblemError } from "../../server/http/problem.ts";
import { seqOfOffset } from "./offset.ts";

const nameLabel = "durable-streams.name";
const digestOf = (name: string): string => hash("sha256", name, "hex");

/** The session of a stream; null: there is none. */
export async function findStream(engine: Engine, name: string): Promise<Session | null> {
  try {
    if (isSessionId(name)) return await engine.session(name);
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
  const { rows } = await engine.sessions({ labels: { [nameLabel]: digestOf(name) }, limit: 100 });
  // Later forks of the fork inherit its label. Its own id, made of the name, sorts before theirs.
  const [first] = rows.map(({ session }) => session).toSorted();
  return first === undefined ? null : engine.session(first);
}

/** Answers a PUT: forks a session, or finds the stream as it was asked for. */
export async function putStream(
  engine: Engine,
  name: string,
  headers: IncomingHttpHeaders,
): Promise<{ readonly session: Session; readonly isNew: boolean }> {
  refuseOptions(headers);
  const from = headers["stream-forked-from"];
  const found = await findStream(engine, name);
  if (from === undefined) {
    if (found !== null) return { session: found, isNew: false };
    const hint = "open a session with POST /v1/sessions, or send Stream-Forked-From";
    throw new ProblemError(
      makeProblem("wrong-method", "streams: a stream is a session or a fork of one", { hint }),
    );
  }
  const source = await findStream(engine, nameOfPath(String(from)));
  if (source === null) throw new SkeinError("not-found", "streams: Stream-Forked-From: no such stream");
  const atSeq = await forkSeq(source, headers["stream-fork-offset"]);
  if (found !== null) return { session: await sameFork(found, source, atSeq), isNew: false };
  if (isSessionId(name)) throw new SkeinError("not-found", `streams: there is no session ${name}`);
  const key = `${nameLabel}:${digestOf(name)}`;
  const forking = await internalsOf(engine).forRequest({ key }).session(source.id);
  const labels = { [nameLabel]: digestOf(name) };
  const fork = await forking.fork({ labels, ...(atSeq === null ? {} : { atSeq }) });
  const session = await engine.session(fork.id);
  return { session: await sameFork(session, source, atSeq), isNew: true };
}

/** A PUT of a stream that exists must ask for the same fork. */
async function sameFork(session: Session, source: Session, atSeq: number | null): Promise<Session> {
  const { fork } = (await session.fold()).standing;
  if (fork?.parent === source.id && (atSeq === null || atSeq === fork.seq)) return session;
  throw new SkeinError("conflict", "streams: the stream exists, and is not this fork");
}

async function forkSeq(source: Session, offset: string | string[] | undefined): Promise<number | null> {
  if (offset === undefined || offset === "now") return null;
  const seq = seqOfOffset(String(offset));
  const { seq: headSeq } = await source.head();
  if (seq >= 1 && seq <= headSeq) return seq;
  throw new SkeinError("invalid", `streams: Stream-Fork-Offset: expected a position from 1 to ${headSeq}`);
}

/** What a session cannot be. */
function refuseOptions(headers: IncomingHttpHeaders): void {
  const refused = ["stream-ttl", "stream-expires-at", "stream-closed", "stream-fork-sub-offset"].find(
    (name) => headers[name] !== undefined && headers[name] !== "0" && headers[name] !== "false",
  );
  if (refused !== undefined) throw new SkeinError("invalid", `streams: ${refused} is not supported`);
  const [type = ""] = (headers["content-type"] ?? "application/json").split(";");
  if (type.trim().toLowerCase() === "application/json") return;
  throw new SkeinError("conflict", "streams: Content-Type: expected application/json");
}

/** The stream of a path or URL: its last segment. */
function nameOfPath(path: string): string {
  const [plain = ""] = path.split(/[?#]/);
  return decodeName(plain.split("/").at(-1) ?? "");
}

export function decodeName(part: string): string {
  try {
    const name = decodeURIComponent(part);
    if (name !== "" && name.length <= 1_000) return name;
  } catch {
    // The same error as for a name that is too long.
  }
  throw new SkeinError("invalid", "streams: the name is not a valid part of a URL");
}
