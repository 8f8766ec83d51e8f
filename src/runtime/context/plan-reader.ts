/** Makes the plan of a context at a boundary: reads what could be shown, and has core choose. */
import { userBlocks } from "../../core/context/block.ts";
import { renderFront } from "../../core/context/frame.ts";
import {
  planContext,
  type PlanInput,
  sizeOfPins,
  type PinnedSize,
  type PlanDraft,
  type Planning,
} from "../../core/context/plan.ts";
import type { PlannedItem } from "../../core/context/plan-items.ts";
import { blankSheet, boundaryOf, field, isStep, type ContextSource } from "../../core/context/source.ts";
import { estimateParts, roughTokens } from "../../core/context/token-count.ts";
import { kindRank } from "../../core/item/kind.ts";
import type { SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { ItemRef, State } from "../../core/state.ts";
import { textOf } from "../../core/context/text.ts";
import { rank, type Candidate } from "../../core/rank/rank.ts";
import { count } from "../../core/text/number-format.ts";
import { sideBySide } from "../read/content.ts";
import { type ContextWorld, readOne } from "../read/event-cache.ts";

/** A plan that is to be logged with the next request, and the size of its pins. */
export interface UnloggedPlan {
  readonly draft: PlanDraft;
  readonly pins: PinnedSize;
}

/** Items whose values are read for a plan; of more, the least important are looked through for the query. */
const readMax = 2_000;
const batchSize = 500;
const relevantMax = 50;

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
    ...(documents.length > 0 && deps.tokenizer && { measure: await deps.tokenizer.counter() }),
    instructionTokens,
    pinned,
    ...(await boundaryItems(source, contents)),
    memory: await sideBySide(state.mind.memory, async ({ seq }) => {
      const content = (await read({ seq }))?.content;
      const [items, withdrawn] = [field(content, "items"), field(content, "withdrawn")];
      const gone = Array.isArray(withdrawn) ? { withdrawn: withdrawn as unknown[] } : {};
      return { seq, items: Array.isArray(items) ? (items as unknown[]) : null, ...gone };
    }),
    documents: await sideBySide(documents, async ({ seq, kind }) => {
      const content = (await read({ seq }))?.content;
      const [text, path] = [field(content, "text"), field(content, "path")];
      return {
        seq,
        kind,
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

/** What was recorded before the first request after the boundary; later items are in the transcript. */
async function boundaryItems(
  source: ContextSource,
  contents: (refs: readonly ItemRef[]) => Promise<PlannedItem[]>,
): Promise<Pick<PlanInput, "items" | "unread" | "itemsToSeq" | "summary">> {
  const overlay = boundaryOf(source);
  const fromSeq = overlay?.seq ?? 0;
  const { items, pins } = source.state.mind;
  const asked = source.transcript.find((event) => event.seq > fromSeq && isStep(event));
  const itemsToSeq = asked?.seq ?? source.state.seq;
  const known = [...items.values()]
    .filter(({ seq, kind, key }) => seq <= itemsToSeq && !pins.has(itemKey(kind, key)))
    .toSorted((a, b) => kindRank(a.kind, a.status) - kindRank(b.kind, b.status) || b.seq - a.seq);
  const summary = field(source.events.get(fromSeq)?.content, "summary");
  const relevant = await relevantOf(known.slice(readMax), queryOf(source), contents);
  return {
    items: [...(await contents(known.slice(0, readMax))), ...relevant],
    unread: Math.max(0, known.length - readMax - relevant.length),
    itemsToSeq,
    summary: overlay === null ? null : typeof summary === "string" ? summary : "",
  };
}

/** Of the least important items, those that the query is about: read batch by batch, and only their heads. */
async function relevantOf(
  refs: readonly ItemRef[],
  query: string,
  contents: (refs: readonly ItemRef[]) => Promise<PlannedItem[]>,
): Promise<PlannedItem[]> {
  if (refs.length === 0 || query === "") return [];
  const candidates: Candidate[] = [];
  for (let from = 0; from < refs.length; from += batchSize)
    for (const { seq, key, content } of await contents(refs.slice(from, from + batchSize)))
      candidates.push({
        id: String(seq),
        title: key,
        text: textOf(field(content, "value") ?? "").slice(0, 500),
      });
  const found = rank(query, candidates).filter(({ isRelevant }) => isRelevant);
  const seqs = new Set(found.slice(0, relevantMax).map(({ id }) => Number(id)));
  return contents(refs.filter(({ seq }) => seqs.has(seq)));
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
