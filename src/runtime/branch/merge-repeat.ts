/**
 * A merge that is repeated under its key: nothing there is new any more, so its result comes from the
 * recorded note.
 */
import type { EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { contentOf } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import type { MergeReport } from "./merge.ts";
import { writtenBefore } from "../log/workspace-log.ts";

/** Null when it was not done before, or was interrupted: then the rest of it is done now. */
export async function mergedBefore(
  deps: Deps,
  session: SessionId,
  from: SessionId,
): Promise<MergeReport | null> {
  const { store } = deps;
  const first = await writtenBefore(deps, session);
  if (first === null) return null;
  const toSeq = (await store.head(session))?.seq ?? 0;
  const range = { fromSeq: first.seq, toSeq, limit: 1, types: ["session.merged"], contents: true };
  const [note] = await store.read(session, range);
  if (note === undefined) return null;
  const body = JSON.parse(note.body) as EventOf<"session.merged">["body"];
  if (body.from !== from) return null;
  const content = (await contentOf(store, note)) as { readonly summary?: string } | undefined;
  return {
    ok: true,
    from,
    range: { fromSeq: body.fromSeq, toSeq: body.toSeq },
    base: (body.base as MergeReport["base"] | undefined) ?? null,
    taken: [],
    same: [],
    left: [],
    conflicts: [],
    resolved: [],
    summary: content?.summary ?? null,
    written: note.seq,
  };
}
