/**
 * Checks whether a repeated call with a key equals the change written with it. The log decides: the same
 * change, decided on the state before it, gives the same records. Where contents were erased, or secrets were
 * removed from them, the caller gets the benefit of the doubt: a retry must never be refused for it.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Draft } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";
import { findSession } from "../read/find.ts";
import type { Deps } from "../deps.ts";
import { forwardedTo } from "./forward.ts";
import { decideSealed } from "./seal.ts";
import type { Build } from "./writer.ts";

type KnownRecord = Pick<Deps, "store" | "world" | "states">;

export const reusedKey = (): SkeinError =>
  new SkeinError("conflict", "the Idempotency-Key was used for another change", {
    hint: "use a new key for each change",
    detail: "reused-key",
  });
export const isReused = (error: unknown): boolean =>
  error instanceof SkeinError && error.detail === "reused-key";

export interface Again {
  readonly build: Build;
  readonly actor: string;
  /** The first position of the change with the key. */
  readonly firstSeq: number;
}

export async function isSameChange(
  { store, world, states }: KnownRecord,
  session: SessionId,
  { build, actor, firstSeq }: Again,
): Promise<boolean> {
  const to = await forwardedTo(store, session, firstSeq);
  if (to !== null) {
    if ((await store.head(to.session as SessionId)) === undefined) return true;
    const there = { build, actor, firstSeq: to.seq };
    return isSameChange({ store, world, states }, to.session as SessionId, there);
  }
  const drafts = await draftsOf();
  if (drafts === null) return true;
  if (drafts === "none") return false;
  const range = { fromSeq: firstSeq, toSeq: firstSeq + drafts.length - 1, limit: drafts.length };
  const records = await store.read(session, { ...range, contents: true });
  return records.every((record, place) => isSame(record, drafts[place]));

  /** Null: it can no longer be determined. */
  async function draftsOf(): Promise<readonly Draft[] | "none" | null> {
    try {
      const state = await states.at(session, firstSeq - 1);
      const command = typeof build === "function" ? await build(state) : build;
      const facts = { digest: world.digest, program: store.program, actor };
      const sealed = decideSealed(world, state, command, { facts, key: null });
      return "refusal" in sealed ? "none" : sealed.drafts;
    } catch (error) {
      if (error instanceof SkeinError) return null;
      throw error;
    }
  }
}

function isSame(record: StoredRecord, draft: Draft | undefined): boolean {
  if (draft === undefined || record.type !== draft.type || record.actor !== draft.actor) return false;
  const isGone = record.content === null && (record.contentHash ?? "") !== "";
  if (isGone || isMarked(record.content) || isMarked(draft.content?.text) || record.v !== draft.v)
    return true;
  return record.body === draft.body && record.content === (draft.content?.text ?? null);
}

/** True when something was redacted: the original value is unknown. */
const isMarked = (text: string | null | undefined): boolean => text?.includes("[redacted: ") === true;

export interface MessageAgain {
  readonly to: string | null;
  readonly message: unknown;
  readonly topic?: string;
  readonly replyTo?: string;
}

/** The same for a message at a position. */
export async function isSameMessage(
  { store, world, actor }: Pick<Deps, "store" | "world" | "actor">,
  { session, seq }: { readonly session: SessionId; readonly seq: number },
  given: MessageAgain,
): Promise<boolean> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  if (record?.type !== "message.sent" || record.actor !== actor) return false;
  const { body } = readEvent(record, false).event as EventOf<"message.sent">;
  if (given.to !== null && !body.to.endsWith(given.to) && !(await isForwarded(store, given.to))) return false;
  if (body.topic !== given.topic || body.replyTo !== given.replyTo) return false;
  const content = (await contentOf(store, record)) as
    | { readonly blocks?: readonly ChangeContent[] }
    | undefined;
  const text = content?.blocks?.[0]?.text;
  const said = typeof given.message === "string" ? given.message : JSON.stringify(given.message);
  return text === undefined || isMarked(text) || text === (world.redactor?.text(said) ?? said);
}

interface ChangeContent {
  readonly text?: string;
}

/** A message to a session that went on as another one names that one. */
async function isForwarded(store: Deps["store"], named: string): Promise<boolean> {
  const found = await findSession(store, named).catch(() => null);
  if (found === null) return true;
  const head = await store.head(found);
  const range = { fromSeq: 1, toSeq: head?.seq ?? 0, reverse: true, limit: 1, contents: false };
  return (await store.read(found, { ...range, types: ["session.continued"] })).length > 0;
}
