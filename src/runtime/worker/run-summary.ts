/** The report about a run: its reason and its outcome. Read from the log on demand. */
import type { SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";

async function lastOf(
  store: Store,
  session: SessionId,
  types: readonly string[],
): Promise<{ readonly type: string; readonly body: Readonly<Record<string, unknown>> } | null> {
  const toSeq = (await store.head(session))?.seq ?? 0;
  const range = { fromSeq: 1, toSeq, reverse: true, limit: 1, types, contents: false };
  const [record] = await store.read(session, range);
  if (record === undefined) return null;
  return { type: record.type, body: JSON.parse(record.body) as Record<string, unknown> };
}

/** What gave it something to do: `input`, `message`, `time`, `trigger NAME`; null when it is unknown. */
export async function reasonOf(store: Store, session: SessionId): Promise<string | null> {
  const types = ["input.received", "message.received", "session.woken", "trigger.fired", "session.activated"];
  const found = await lastOf(store, session, types);
  if (found === null) return null;
  const { type, body } = found;
  if (type === "trigger.fired") return `trigger ${String(body["name"])}`;
  if (type === "session.activated") return "activation";
  if (type === "session.woken") {
    const trigger = body["trigger"];
    return typeof trigger === "string" ? `trigger ${trigger}` : String(body["by"]);
  }
  const from = body["trigger"];
  if (typeof from === "string") return `trigger ${from}`;
  return type === "message.received" ? "message" : "input";
}

/** How the last turn ended; null when none did. */
export async function outcomeOf(store: Store, session: SessionId): Promise<string | null> {
  const found = await lastOf(store, session, ["turn.ended"]);
  return found === null ? null : String(found.body["outcome"]);
}
