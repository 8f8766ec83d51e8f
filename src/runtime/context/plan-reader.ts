/** Makes the plan of a context at a boundary: reads what could be shown, and has core choose. */
import { userBlocks } from "../../core/context/block.ts";
import { renderFront } from "../../core/context/frame.ts";
import {
  planContext,
  sizeOfPins,
  type PinnedSize,
  type PlanDraft,
  type Planning,
} from "../../core/context/plan.ts";
import type { PlannedItem } from "../../core/context/plan-items.ts";
import { blankSheet, boundaryOf, field, type ContextSource } from "../../core/context/source.ts";
import { estimateParts, roughTokens } from "../../core/context/token-count.ts";
import { kindRank } from "../../core/item/kind.ts";
import type { SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { ItemRef, State } from "../../core/state.ts";
import { count } from "../../core/text/number-format.ts";
import { sideBySide } from "../read/content.ts";
import { type ContextWorld, readOne } from "../read/event-cache.ts";

/** A plan that is to be logged with the next request, and the size of its pins. */
export interface UnloggedPlan {
  readonly draft: PlanDraft;
  readonly pins: PinnedSize;
}

/** Items whose values are read for a plan; of more, the least important are only counted. */
const readMax = 2_000;

/** The inputs that tell what the model is about to be asked, and the characters of each. */
const queryInputs = { most: 3, chars: 2_000 };

/** `source` needs no plan: it is what the context would be made of. */
export async function makePlan(
  deps: ContextWorld,
  session: SessionId,
  source: ContextSource,
  options: Planning & { readonly renderer: number },
): Promise<UnloggedPlan> {
  const { state } = source;
  const read = async (ref: { readonly seq: number }): Promise<SessionLogEvent | undefined> =>
    source.events.get(ref.seq) ?? (await readOne(deps, session, ref.seq));
  const contents = (refs: readonly ItemRef[]): Promise<PlannedItem[]> =>
    sideBySide(refs, async (ref) => ({ ...ref, content: (await read(ref))?.content }));
  const pinned = await contents(pinnedItems(state));
  const front = blankSheet();
  renderFront(source, front);
  const sizes = estimateParts(front.parts);
  const instructionTokens = front.reasons.reduce(
    (sum, { kind }, place) => sum + (kind === "instructions" ? (sizes[place] ?? 0) : 0),
    0,
  );
  const documents = [...state.mind.documents.values()].toSorted((a, b) => a.seq - b.seq);
  const draft = planContext({
    ...options,
    count: roughTokens,
    instructionTokens,
    pinned,
    ...(await boundaryItems(source, contents)),
    memory: await sideBySide(state.mind.memory, async ({ seq }) => {
      const content = (await read({ seq }))?.content;
      const [items, withdrawn] = [field(content, "items"), field(content, "withdrawn")];
      const gone = Array.isArray(withdrawn) ? { withdrawn: withdrawn as unknown[] } : {};
      return { seq, items: Array.isArray(items) ? (items as unknown[]) : null, ...gone };
    }),
    documents: await sideBySide(documents, async ({ seq }) => {
      const content = (await read({ seq }))?.content;
      const [text, path] = [field(content, "text"), field(content, "path")];
      return {
        seq,
        path: typeof path === "string" ? path : null,
        text: typeof text === "string" ? text.toWellFormed() : null,
      };
    }),
    query: queryOf(source),
  });
  return { draft, pins: sizeOfPins(pinned, options, roughTokens) };
}

/** Why a context cannot be sent with all that is pinned; null if it can. */
export function pinsReason({
  newPlan,
  model,
}: {
  readonly newPlan: UnloggedPlan | null;
  readonly model: string;
}): string | null {
  if (newPlan === null || newPlan.pins.tokens <= newPlan.pins.roomTokens) return null;
  const { tokens, roomTokens } = newPlan.pins;
  return (
    `the pinned items have about ${count(tokens)} tokens, and the window of ${model} ` +
    `(${count(newPlan.draft.body.windowTokens)}) has ${count(roomTokens)} for them: ` +
    "unpin some, or use a model with a larger window"
  );
}

/** Pinned items with their current values. */
export const pinnedItems = ({ mind }: Pick<State, "mind">): ItemRef[] =>
  [...mind.pins.keys()].map((name) => mind.items.get(name)).filter((item) => item !== undefined);

/** What a summary replaces and items keep. Items recorded after it are in the transcript. */
async function boundaryItems(
  source: ContextSource,
  contents: (refs: readonly ItemRef[]) => Promise<PlannedItem[]>,
): Promise<{
  readonly items: readonly PlannedItem[];
  readonly unread: number;
  readonly summary: string | null;
}> {
  const overlay = boundaryOf(source);
  if (overlay === null) return { items: [], unread: 0, summary: null };
  const { items, pins } = source.state.mind;
  const known = [...items.values()]
    .filter(({ seq, kind, key }) => seq <= overlay.seq && !pins.has(itemKey(kind, key)))
    .toSorted((a, b) => kindRank(a.kind, a.status) - kindRank(b.kind, b.status) || b.seq - a.seq);
  const summary = field(source.events.get(overlay.seq)?.content, "summary");
  return {
    items: await contents(known.slice(0, readMax)),
    unread: Math.max(0, known.length - readMax),
    summary: typeof summary === "string" ? summary : "",
  };
}

/** The newest inputs: those that this request takes, and those before. */
function queryOf({ transcript, taken, events }: ContextSource): string {
  const seqs = [
    ...transcript.flatMap((event) =>
      event.type === "turn.started" || event.type === "model.requested"
        ? event.body.inputs.map(([seq]) => seq)
        : [],
    ),
    ...taken,
  ];
  const texts = seqs.slice(-queryInputs.most).map((seq) =>
    userBlocks(events.get(seq)?.content, false)
      .map((block) => (block.type === "text" ? block.text : ""))
      .join("\n")
      .slice(0, queryInputs.chars),
  );
  return texts.join("\n");
}
