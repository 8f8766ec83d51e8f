/** A message in transit: its records at both ends, and the checks of the receiver. */
import { readRecords } from "../read/record-pages.ts";
import { present } from "../../core/present.ts";
import type { CommandOf } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { checkContract } from "./contract.ts";
import { whereTo } from "../read/move-target.ts";

export interface MessageEnvelope {
  readonly message: string;
  readonly from: SessionId;
  readonly to: SessionId;
  readonly number: number;
  readonly text: string;
  readonly topic?: string | undefined;
  readonly replyTo?: string | undefined;
  /** Of a reply: the session that the request was sent to, if the sender continues it. */
  readonly as?: string | undefined;
  readonly deadlineMs?: number | undefined;
}

/**
 * The command for the receiver. Throws what the decision cannot know: that it lives elsewhere, or that the
 * message violates a contract. `place`: the sender's store, when that is another one.
 */
export async function receiving(
  store: Store,
  state: State,
  envelope: MessageEnvelope,
  place?: string,
): Promise<CommandOf<"receive">> {
  const { message, from, to, text, topic, replyTo, as, deadlineMs } = envelope;
  const lastNumber = state.standing.received.get(from) ?? 0;
  // The decision finds an existing one, whatever happened to the receiver since.
  const isThere = envelope.number <= lastNumber && (await hasReceived(store, envelope));
  if (!isThere) {
    await checkLivesHere(store, to, state);
    await checkContract(store, { session: to, state }, { topic, text });
  }
  // A sender whose store was restored from a backup reuses numbers.
  const number = isThere ? envelope.number : Math.max(envelope.number, lastNumber + 1);
  return {
    do: "receive",
    from,
    message,
    number,
    text,
    ...present({ topic, replyTo, as, deadlineMs }),
    ...noteOf(envelope),
    ...present({ place }),
  };
}

/**
 * True when the receiver's log holds this message. The number does not decide: after the sender's store was
 * restored from a backup another message may have it. A message is recorded under its own number or a later
 * one, and the numbers of a sender ascend, so the search ends at the first number before its own.
 */
export async function hasReceived(store: Store, envelope: MessageEnvelope): Promise<boolean> {
  const { message, from, to, number } = envelope;
  const types = ["message.received"];
  for await (const { body } of readRecords(store, to, [1, Infinity], { types, reverse: true })) {
    const found = JSON.parse(body) as { message: string; from: string; number: number };
    if (found.from !== from) continue;
    if (found.message === message) return true;
    if (found.number < number) return false;
  }
  return false;
}

/** The note for a model that should reply, or that waits for several replies. */
function noteOf({ message, replyTo, deadlineMs }: MessageEnvelope): { readonly note?: string } {
  const request =
    deadlineMs === undefined
      ? []
      : [
          `[request ${message}: reply with the send tool, replyTo ${message}, ` +
            `until ${momentText(deadlineMs)}]`,
        ];
  const reply = replyTo === undefined ? [] : [`[this is the reply to ${replyTo}]`];
  const lines = [...reply, ...request];
  return lines.length === 0 ? {} : { note: lines.join("\n") };
}

export const momentText = (ms: number): string =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);

/** A message goes to where its receiver lives. */
export async function checkLivesHere(store: Store, session: SessionId, state: State): Promise<void> {
  if ((await store.head(session))?.copy === true) {
    throw new SkeinError("refused", `${session} is a read-only copy of a session in another store`, {
      hint: "send it to the original store: --at STORE",
    });
  }
  if (state.standing.status !== "moved") return;
  const where = await whereTo(store, session, state);
  throw new SkeinError("refused", `${session} was moved${where === null ? "" : ` to ${where}`}`, {
    hint: "send it to the new store: --at STORE",
  });
}
