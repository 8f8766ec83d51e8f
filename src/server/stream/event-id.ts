/**
 * Ids of events in the stream of a session: the position, and the first digits of the hash, "12.9f86d081…". A
 * reconnecting reader never gets the events of another history. 0.4 gave out the position alone, which is
 * still accepted.
 */
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { KnownHead } from "../../runtime/read/known-heads.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { ProblemError } from "../http/problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const form = /^(\d{1,15})(?:\.([0-9a-f]{16}))?$/;

/** The last event that a reader has, as its log holds it; undefined when there is none. */
export async function positionIn(
  { engine, session }: { readonly engine: Engine; readonly session: Session },
  text: string | undefined,
  field: string,
): Promise<KnownHead | undefined> {
  if (text === undefined || text === "") return undefined;
  const [, digits, hash = ""] = form.exec(text) ?? [];
  if (digits === undefined) {
    const hint = "pass an event id as it was received";
    throw new ProblemError(makeProblem("invalid", "Last-Event-ID: expected an event id", { field, hint }));
  }
  const seq = Number(digits);
  if (seq === 0) return undefined;
  const { store } = internalsOf(engine);
  const head = (await session.head()).seq;
  const [record] = await store.read(session.id, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record?.hash.startsWith(hash) === true) return { seq, hash: record.hash };
  if (hash !== "") throw new ProblemError(otherHistory(session, seq, field));
  throw new ProblemError(
    makeProblem(
      "invalid",
      `Last-Event-ID: event ${seq} does not exist in ${session.id}, which ends at ${head}`,
      {
        field,
        hint: `the store may have been rolled back; continue after ${head}, or read from the start`,
      },
    ),
  );
}

/** Nothing is suspended for it: any reader could claim anything. */
const otherHistory = ({ id }: Session, seq: number, field: string): ReturnType<typeof makeProblem> =>
  makeProblem("corrupt", `${id} was rolled back: event ${seq} is lost or different`, {
    field,
    hint: `a failover or a restored backup lost it. To see the remaining events: skein log ${id}`,
  });
