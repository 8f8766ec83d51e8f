/** What a session takes over from the one that it continues, read from that one's log. */
import { present } from "../../core/present.ts";
import { carriedStop } from "../../core/session/succession.ts";
import type { CopiedItem, OpenRequest, Succession } from "../../core/session/commands.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { QueuedRecord } from "../read/inbox.ts";

export async function takesFrom(
  { store }: Deps,
  session: SessionId,
  state: State,
  {
    queue,
    whole,
    reason,
  }: {
    readonly queue: readonly QueuedRecord[];
    readonly whole: boolean;
    readonly reason?: string | undefined;
  },
): Promise<Succession> {
  const { first, sleep, status, turn } = state.standing;
  const by = whole ? carriedStop(state) : null;
  const goesOn = whole && turn !== null ? goOnText(session, reason) : undefined;
  return {
    first: first ?? session,
    inputs: queue.map(({ type, actor, body, content }) => ({ type, actor, body, content })),
    contracts: await contractsOf(store, session, state),
    holds: await holdsOf(store, session, state),
    items: whole ? await pinnedOf(store, session, state) : [],
    requests: await requestsOf(store, session, state),
    ...present({ goesOn }),
    ...(whole && status === "sleeping" && sleep !== null ? { sleep } : {}),
    ...(by === null ? {} : { suspended: { by, reason: `as it was in ${session}` } }),
  };
}

const goOnText = (session: SessionId, reason: string | undefined): string =>
  `This session continues ${session}, which ended in the middle of a turn` +
  `${reason === undefined ? "" : ` (${reason})`}. Its handoff says where the work stands. ` +
  "Go on with it from there; what it says is done need not be done again.";

/** A contract whose schema was erased fits no message: it does not go over. */
async function contractsOf(store: Store, session: SessionId, state: State): Promise<Succession["contracts"]> {
  const found: Succession["contracts"][number][] = [];
  for (const [topic, { seq }] of state.standing.contracts.entries()) {
    const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
    const content = record === undefined ? undefined : await contentOf(store, record);
    if (record === undefined || content === undefined) continue;
    const { digest } = JSON.parse(record.body) as { readonly digest: string };
    found.push({ topic, digest, schema: (content as { readonly schema: unknown }).schema });
  }
  return found;
}

async function holdsOf(store: Store, session: SessionId, state: State): Promise<Succession["holds"]> {
  const found: Succession["holds"][number][] = [];
  for (const [name, seq] of state.standing.holds.entries()) {
    const content = (await readContent(store, session, seq)) as { readonly reason?: string } | undefined;
    found.push({ name, reason: content?.reason });
  }
  return found;
}

const pinnedOf = (store: Store, session: SessionId, state: State): Promise<readonly CopiedItem[]> =>
  copiesOf(store, session, state, state.mind.pins.keys());

/** By `KIND/KEY`. An item whose value was erased does not go over. */
export async function copiesOf(
  store: Store,
  session: SessionId,
  { mind }: State,
  names: Iterable<string>,
): Promise<readonly CopiedItem[]> {
  const found: CopiedItem[] = [];
  for (const name of names) {
    const item = mind.items.get(name);
    const content = item === undefined ? undefined : await readContent(store, session, item.seq);
    if (item === undefined || content === undefined) continue;
    const { value, because, evidence } = content as {
      readonly value: unknown;
      readonly because?: string;
      readonly evidence?: readonly string[];
    };
    const { kind, key, status, confidence, seq } = item;
    const known = present({ because, evidence, confidence, status: status ?? undefined });
    const isPinned = mind.pins.has(name);
    found.push({ write: "record", kind, key, value, origin: { session, seq }, isPinned, ...known });
  }
  return found;
}

async function requestsOf(store: Store, session: SessionId, state: State): Promise<readonly OpenRequest[]> {
  const { requests, asked } = state.standing;
  const found: OpenRequest[] = [...requests.entries()].map(([message, { to, deadlineMs }]) => ({
    message,
    to,
    deadlineMs,
  }));
  for (const [message, { from, seq, deadlineMs, as = session }] of asked.entries()) {
    if (deadlineMs < state.at) continue;
    const content = (await readContent(store, session, seq)) as { readonly place?: string } | undefined;
    found.push({ message, from, as, deadlineMs, place: content?.place });
  }
  return found;
}
