/**
 * What a session records for its project too, in the same append: what its caller says, and by default the
 * decisions, preferences and constraints of people and of turns that took in nothing from outside. Such an
 * item follows its session, as entries of memory do.
 */
import type { DraftEvent } from "../../core/decision.ts";
import { isProjectId } from "../../core/ids.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { Doubt } from "../../core/memory/proposal.ts";
import { limit } from "../../core/limit.ts";
import { isTooLongForProject } from "../../core/project/project.ts";
import { present } from "../../core/present.ts";
import type { AlsoChange, WorkspaceEffects } from "../log/workspace-effects.ts";
import type { Deps } from "../deps.ts";

const shareable: readonly string[] = ["decision", "preference", "constraint"];

const isShareable = (kind: string): boolean => shareable.includes(kind);

interface ItemBody {
  readonly kind: string;
  readonly key: string;
  readonly shared?: string;
  readonly origin?: unknown;
}

/**
 * An item of the project that is from elsewhere is not replaced by default: the two may contradict each
 * other, and a person settles that.
 */
export async function projectDrafts(
  deps: Deps,
  { session, state, drafts }: AlsoChange,
  how: { readonly isDefault: boolean; readonly doubtOf: (draft: DraftEvent) => Doubt | null },
): Promise<Pick<WorkspaceEffects, "ofProject">> {
  const { project } = state.standing;
  if (project === null || !isProjectId(project)) return {};
  if ((await deps.store.head(project)) === undefined) return {};
  const { items, status } = (await deps.projects.read(project)).state;
  if (status !== "open") return {};
  const events: DraftEvent[] = [];
  const made = new Set<string>();
  let size = items.size;
  for (const [place, draft] of drafts.entries()) {
    if (draft.type !== "item.recorded" && draft.type !== "item.retracted") continue;
    const { shared, origin: copied, ...body } = draft.body as ItemBody;
    const key = itemKey(body.kind, body.key);
    const before = items.get(key);
    // Perhaps by an earlier draft of this append.
    const isOwn = before?.origin?.session === session || made.has(key);
    if (draft.type === "item.retracted") {
      if (isOwn) events.push(ofProject(draft, { kind: body.kind, key: body.key }));
      made.delete(key);
      continue;
    }
    const isAsked = shared === "project";
    const byDefault = how.isDefault && isShareable(body.kind) && before === undefined && copied === undefined;
    if (!isAsked && !isOwn && !byDefault) continue;
    // What may be from outside changes nothing that others read, until a person records it there.
    if (!isAsked && how.doubtOf(draft) !== null) continue;
    if (isTooLongForProject((draft.content as { readonly value?: unknown } | undefined)?.value)) {
      // The earlier value no longer holds.
      if (isOwn) events.push(retracted(draft, body));
      continue;
    }
    if (before === undefined && !made.has(key) && size++ >= limit.itemsMax) continue;
    made.add(key);
    const origin = { session, seq: state.seq + 1 + place };
    events.push(ofProject(draft, { ...body, origin }));
  }
  const room = limit.appendRecordsMax - drafts.length;
  return events.length === 0 ? {} : { ofProject: { project, events: events.slice(0, room) } };
}

/** Without its turn, which is one of the session. */
const ofProject = (
  { type, content, actor }: DraftEvent,
  body: Readonly<Record<string, unknown>>,
): DraftEvent => ({
  type,
  body,
  content,
  ...present({ actor }),
});

const retracted = ({ actor }: DraftEvent, { kind, key }: ItemBody): DraftEvent => ({
  type: "item.retracted",
  body: { kind, key },
  ...present({ actor }),
});
