/** The items of a conversation, from the events of its session. Pure. */
import type { SessionEvent } from "../../core/event.ts";
import { importedAnswer, importedInput } from "../../core/history/transcript.ts";
import { includes, type Ranges } from "../../core/range.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { isOf } from "../../core/transcript.ts";
import { itemId } from "./ids.ts";
import { isFields } from "./input.ts";
import { segmentsOf } from "../answer-segment.ts";
import { callItem, callOutputItem, placeOf, segmentItem, type OutputItem } from "./output.ts";
import type { ResponseBody, ResponseContent } from "./project.ts";

export const recordTypes = {
  conversation: "x.openai.conversation",
  item: "x.openai.item",
  response: "x.openai.response",
} as const;

/** Events that items are made of. */
export const itemTypes: readonly string[] = [
  ...Object.values(recordTypes),
  ..."input.received message.received model.requested model.responded tool.requested tool.settled".split(" "),
  ..."input.imported answer.imported call.imported".split(" "),
];

/** An item, and the contents to erase when it is deleted. */
export interface PlacedItem {
  readonly item: OutputItem;
  readonly seqs: readonly number[];
  /** A client added it, and the next response brings it to the model. */
  readonly isAdded?: true;
}

/** The items in order. Erased ones are left out. */
export function conversationItems(
  session: string,
  events: readonly SessionEvent[],
  lost: Ranges,
): PlacedItem[] {
  const items = new Map<string, PlacedItem>();
  const compactions = new Set<number>();
  const covered = new Set<number>();
  const calls = new Set<string>();
  const put = (item: OutputItem, ...seqs: readonly number[]): void => {
    items.set(item.id, { item, seqs });
  };
  const requests = new Map<number, Parameters<typeof callItem>[1]>();
  for (const event of events) {
    const { seq, erased } = event;
    if (includes(lost, seq)) continue;
    if (event.type === recordTypes.response) {
      const body = event.body as ResponseBody;
      for (let at = 1; at <= body.inputs; at++) covered.add(seq + body.items + at);
      for (const call of (event.content as ResponseContent | undefined)?.calls ?? []) calls.add(call);
      continue;
    }
    if (isOf(event, "model.requested") && event.body.purpose === "compaction") compactions.add(seq);
    if (erased) continue;
    if (event.type === recordTypes.item) {
      const { carried } = event.body as { readonly carried?: number };
      const given = givenItem(session, seq, event.content);
      const seqs = carried === undefined ? [seq] : [seq, seq + carried];
      if (given !== null)
        items.set(given.id, { item: given, seqs, ...(carried === undefined ? { isAdded: true } : {}) });
    } else if (isOf(event, "input.received", "message.received")) {
      if (!covered.has(seq)) put(userItem(session, seq, event.content?.blocks ?? []), seq);
    } else if (isOf(event, "input.imported")) {
      put(userItem(session, seq, importedInput(event).content?.blocks ?? []), seq);
    } else if (isOf(event, "model.responded", "answer.imported")) {
      const { cause } = event;
      if (cause !== null && compactions.has(cause)) continue;
      const answer = isOf(event, "answer.imported") ? importedAnswer(event) : event;
      const at = isOf(event, "answer.imported") ? seq : (cause ?? seq);
      const said = segmentsOf(answer.content?.blocks ?? []);
      for (const [n, segment] of said.entries())
        put(segmentItem(session, { seq: at, place: placeOf(said, n) }, segment), seq);
    } else if (isOf(event, "tool.requested")) {
      requests.set(seq, event);
      put(callItem(session, event), seq);
    } else if (isOf(event, "tool.settled")) {
      const request = requests.get(event.cause ?? 0);
      if (request === undefined || event.body.late === true) continue;
      if (request.body.external === undefined) put(callItem(session, request, event), request.seq, seq);
      else if (!calls.has(event.body.call)) put(callOutputItem(session, event), seq);
    }
  }
  return [...items.values()];
}

const kinds: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fco",
  reasoning: "rs",
};

/** An item that a client gave. Its id is of its position. */
function givenItem(session: string, seq: number, content: unknown): OutputItem | null {
  if (!isFields(content) || typeof content["type"] !== "string") return null;
  const { type } = content;
  return { ...content, id: itemId(kinds[type] ?? "item", session, seq), type };
}

function userItem(session: string, seq: number, blocks: readonly ContentBlock[]): OutputItem {
  const content = blocks.map((block) => ({
    type: "input_text",
    text: block.type === "text" ? block.text : `[${block.type}]`,
  }));
  return { id: itemId("msg", session, seq), type: "message", role: "user", status: "completed", content };
}

/** A page of a list, as the client asks for it: newest first unless `order` is `asc`. */
export function pageOf(
  all: readonly OutputItem[],
  { order, limit, after }: { readonly order: string; readonly limit: number; readonly after: string | null },
): Readonly<Record<string, unknown>> {
  const ordered = order === "asc" ? all : all.toReversed();
  const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  const data = ordered.slice(from, from + limit);
  return listOf(data, from + limit < ordered.length);
}

export const listOf = (data: readonly OutputItem[], hasMore = false): Readonly<Record<string, unknown>> => ({
  object: "list",
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});
