/** A session that arrives in a store joins its project there. */
import { isProjectId, type SessionId } from "../../core/ids.ts";
import type { Part, Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { joinParts } from "../log/project-join.ts";
import type { Writer } from "../log/writer.ts";
import { readRecords } from "../read/record-pages.ts";

/** Where a session arrives. */
interface ArrivalStore {
  readonly store: Store;
  readonly world: Deps["world"];
  readonly writer: Pick<Writer, "commit">;
  readonly actor: string;
}

/**
 * A session that arrives joins its project there, unless the project came with the session in its list.
 * Written before the arrival, so that a crash between the two leaves no session out.
 */
export async function joinArriving(
  { store, world, writer, actor }: ArrivalStore,
  session: SessionId,
  project: string | null,
): Promise<void> {
  if (project === null || !isProjectId(project)) return;
  const parts: readonly Part[] = await joinParts({ store, world }, { project, session, actor });
  if (parts.length === 0) return;
  const only = { types: ["project.joined"], contents: false };
  for await (const { body } of readRecords(store, project, [1, Infinity], only))
    if ((JSON.parse(body) as { readonly session?: string }).session === session) return;
  await writer.commit(parts);
}
