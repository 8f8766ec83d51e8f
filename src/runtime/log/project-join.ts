/** The record of a session in the log of its project, in the append that the session begins with. */
import { isProjectId } from "../../core/ids.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Part, Store } from "../../store/port.ts";
import type { World } from "../world.ts";
import { seal } from "./seal.ts";

/**
 * None where the project lives in another store: it is not here, a copy, or was moved. Its sessions join it
 * there when they arrive.
 */
export async function joinParts(
  { store, world }: { readonly store: Store; readonly world: World },
  {
    project,
    session,
    actor,
  }: {
    readonly project: string | null | undefined;
    readonly session: SessionId;
    readonly actor: string;
  },
): Promise<readonly Part[]> {
  if (project === null || project === undefined || !isProjectId(project)) return [];
  const head = await store.head(project);
  if (head === undefined || head.copy === true) return [];
  const range = { fromSeq: head.seq, toSeq: head.seq, limit: 1, contents: false };
  const [last] = await store.read(project, range);
  if (last?.type === "project.moved") return [];
  const { drafts } = seal(world, [{ type: "project.joined", body: { session } }], { actor, key: null });
  return [{ session: project, expect: "exists", drafts }];
}

/** The project of a session that begins: as its command names it, or that of the parent of a fork. */
export const projectOf = (
  command: { readonly do: string; readonly project?: string | undefined },
  from: { readonly standing: { readonly project: string | null } } | undefined,
): string | null => (command.do === "open" ? (command.project ?? null) : (from?.standing.project ?? null));
