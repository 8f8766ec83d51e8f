/**
 * Changes that follow a session to where it went on. With a key, one append writes the change there and the
 * key here, so that a repeated call is recognized at the address that it was sent to, however often the
 * session went on meanwhile.
 */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { liveSession, wentOn } from "../read/successor.ts";
import type { Build, Change, ChangeOptions, Writer } from "./writer.ts";

/** A change, and the session that has it. */
export interface ForwardedChange extends Change {
  readonly session: SessionId;
}

interface ForwardDeps {
  readonly store: Store;
  readonly writer: Writer;
  /** The key of the external call; see request-scope.ts. */
  readonly requestKey?: string | undefined;
}

/** The change in the session, or in the one that it went on as. Their state tells the command which. */
export async function changeLive(
  place: ForwardDeps,
  session: SessionId,
  build: Build,
  options: ChangeOptions,
): Promise<ForwardedChange> {
  const { writer } = place;
  const key = options.key ?? (options.asked === false ? undefined : place.requestKey);
  for (let tries = 0; ; tries++) {
    try {
      const change = await writer.change(session, build, options);
      return change.duplicate ? await whereForwarded(place, session, change) : { ...change, session };
    } catch (error) {
      if (tries === limit.unknownRetriesMax || !(await wentOn(place, session, error))) throw error;
      const live = await liveSession(place, session);
      if (live === session) continue;
      const done = await changeThere(place, { session, live, build, key }, options).catch(
        async (failed: unknown) => {
          // It went on once more meanwhile.
          if (await wentOn(place, live, failed)) return null;
          throw failed;
        },
      );
      if (done !== null) return done;
    }
  }
}

/**
 * The change of `live`, for what was sent to `session`; its key is one of both. `live` is where `session`
 * went on, or that session itself.
 */
export async function changeThere(
  place: ForwardDeps,
  forwarded: {
    readonly session: SessionId;
    readonly live: SessionId;
    readonly build: Build;
    readonly key: string | undefined;
  },
  options: ChangeOptions,
): Promise<ForwardedChange> {
  const { writer } = place;
  const { session, live, build, key } = forwarded;
  const { actor } = options;
  if (live === session) {
    const change = await writer.change(live, build, { ...options, key });
    return change.duplicate ? whereForwarded(place, session, change) : { ...change, session };
  }
  if (key === undefined)
    return { ...(await writer.change(live, build, { ...options, actor })), session: live };
  let seq = 0;
  const there = async (state: State) => {
    seq = state.seq + 1;
    return typeof build === "function" ? build(state) : build;
  };
  const here = () => ({ do: "redirect", to: { session: live, seq } }) as const;
  try {
    const members = [
      { session: live, build: there, key },
      { session, build: here, key },
    ];
    const [part] = await writer.together(members, { actor });
    const state = await writer.current(live);
    return {
      state,
      firstSeq: part?.firstSeq ?? seq,
      headSeq: part?.headSeq ?? seq,
      duplicate: false,
      session: live,
    };
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    // Another call with this key was first.
    const before = await writer.keyed(session, key);
    if (before !== undefined) return whereForwarded(place, session, await asChange(place, session, before));
    const direct = await writer.keyed(live, key);
    if (direct === undefined) throw error;
    return { ...(await asChange(place, live, direct)), session: live };
  }
}

async function asChange({ writer }: ForwardDeps, session: SessionId, firstSeq: number): Promise<Change> {
  const state = await writer.current(session);
  return { state, firstSeq, headSeq: state.seq, duplicate: true };
}

/** An earlier change with the key: here, or where it was forwarded to. */
async function whereForwarded(
  place: ForwardDeps,
  session: SessionId,
  change: Change,
): Promise<ForwardedChange> {
  const to = await forwardedTo(place.store, session, change.firstSeq);
  if (to === null || (await place.store.head(to.session as SessionId)) === undefined)
    return { ...change, session };
  const there = to.session as SessionId;
  return { ...(await asChange(place, there, to.seq)), session: there };
}

/** Where a record says that its input went; null for any other record. */
export async function forwardedTo(
  store: Pick<Store, "read">,
  session: SessionId,
  seq: number,
): Promise<{ readonly session: string; readonly seq: number } | null> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record?.type !== "input.forwarded") return null;
  return (JSON.parse(record.body) as { readonly to: { readonly session: string; readonly seq: number } }).to;
}
