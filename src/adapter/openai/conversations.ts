/** Conversations: a session each. */
import { SkeinError } from "../../core/error.ts";
import type { AppendRecord } from "../../core/turn/commands.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { conversationId, conversationSession, sha256 } from "./ids.ts";
import { invalid, isFields, readItems, type Fields, type GivenItem } from "./input.ts";
import { conversationItems, itemTypes, recordTypes, type PlacedItem } from "./items.ts";
import type { ResponseBody } from "./project.ts";

/** Items that one call may add. */
const itemsMax = 20;

/** The session of a conversation. */
export async function findConversation(engine: Engine, id: string): Promise<Session> {
  const session = conversationSession(id);
  if (session !== null) {
    const found = await engine.session(session).catch((error: unknown) => {
      if (error instanceof SkeinError && error.code === "not-found") return null;
      throw error;
    });
    if (found !== null) return found;
  }
  throw new SkeinError("not-found", `Conversation with id '${id}' not found.`, { field: "conversation" });
}

/** Opens a conversation, with its first items. A second call with the key gives the same. */
export async function createConversation(engine: Engine, body: Fields, key: string | null): Promise<Session> {
  const items = readItems("items", body["items"], itemsMax);
  const metadata = readMetadata(body["metadata"]);
  const session = await engine.open({
    objective: "Talk with the user.",
    ...(key === null ? {} : { key: `openai:${sha256(key)}` }),
  });
  const record: AppendRecord = { type: recordTypes.conversation, body: {}, content: { metadata } };
  await session.append([record, ...items.map(itemRecord)], { key: "openai:created" });
  return session;
}

/** The record of an item. `carried`: how far behind it is the input that the model gets it by. */
export const itemRecord = (item: GivenItem, carried?: number): AppendRecord => ({
  type: recordTypes.item,
  body: typeof carried === "number" && carried > 0 ? { carried } : {},
  content: { ...item },
});

/** A conversation as OpenAI's API has it. */
export async function conversationObject(session: Session): Promise<Fields> {
  let createdAt = 0;
  for await (const { at } of session.events({ limit: 1 })) createdAt = at;
  let metadata: unknown = {};
  const types = [recordTypes.conversation];
  for await (const { content } of session.events({ types, reverse: true, limit: 1 }))
    metadata = isFields(content) ? content["metadata"] : {};
  const created_at = Math.floor(createdAt / 1_000);
  return { id: conversationId(session.id), object: "conversation", created_at, metadata };
}

export async function updateConversation(session: Session, body: Fields): Promise<void> {
  const metadata = readMetadata(body["metadata"]);
  await session.append([{ type: recordTypes.conversation, body: {}, content: { metadata } }]);
}

/** Adds items. The next response gets them. */
export async function addItems(session: Session, body: Fields, key: string | null): Promise<PlacedItem[]> {
  const items = readItems("items", body["items"], itemsMax);
  if (items.length === 0) throw invalid("items", "expected at least one item");
  const records = items.map((item) => itemRecord(item));
  const { seq } = await session.append(records, key === null ? {} : { key: `openai:${sha256(key)}` });
  const all = await listItems(session);
  return all.filter(({ seqs: [at = 0] }) => at >= seq && at < seq + items.length);
}

/** All items of a conversation, in order. */
export async function listItems(session: Session): Promise<PlacedItem[]> {
  const { mind, seq: toSeq } = await session.fold();
  const events = await Array.fromAsync(session.events({ types: itemTypes, toSeq }));
  return conversationItems(session.id, events, mind.lost);
}

export async function findItem(session: Session, id: string): Promise<PlacedItem> {
  const found = (await listItems(session)).find(({ item }) => item.id === id);
  if (found !== undefined) return found;
  throw new SkeinError("not-found", `Item with id '${id}' not found.`, { field: "item_id" });
}

/** Erases an item, and the input that brought it to the model. */
export async function deleteItem(session: Session, id: string): Promise<void> {
  const { seqs, isAdded } = await findItem(session, id);
  const [seq = 0] = seqs;
  const more: number[] = [];
  if (isAdded === true) {
    const types = [recordTypes.response];
    for await (const event of session.events({ types, fromSeq: seq + 1, limit: 1 })) {
      const { items, inputs } = event.body as ResponseBody;
      // An item that was added before a response is in the first input of it.
      if (inputs > 0) more.push(event.seq + items + 1);
    }
  }
  const ranges = [...seqs, ...more].map((at) => [at, at] as const);
  await session.erase({ ranges, reason: "the item was deleted" });
}

/** At most 16 texts. */
export function readMetadata(given: unknown): Fields {
  if (given === undefined || given === null) return {};
  const isValid =
    isFields(given) &&
    Object.keys(given).length <= 16 &&
    Object.values(given).every((value) => typeof value === "string" && value.length <= 512);
  if (!isValid) throw invalid("metadata", "expected at most 16 texts of at most 512 characters");
  return given;
}
