/** Sending a message: one append writes it to both logs, so that it is never sent without being received. */
import { makeSessionId, type SessionId } from "../core/ids.ts";
import { findSession } from "./find.ts";
import type { Context } from "./engine-context.ts";

export interface SendOptions {
  /** The receiver: its id, or an ending of it. */
  readonly to: string;
  readonly text: string;
  readonly topic?: string;
}

export interface Sent {
  readonly message: string;
  readonly to: SessionId;
  /** The position in the sender's log. */
  readonly seq: number;
}

/** From a tool call, its result is written in the same append. */
export async function sendMessage(
  context: Context,
  from: SessionId,
  { to: idOrEnding, text, topic }: SendOptions,
  call?: { readonly id: string; readonly epoch: number; readonly actor: string },
): Promise<Sent> {
  const { store, world, writer, actor } = context;
  const to = await findSession(store, idOrEnding);
  const message = makeSessionId({ nowMs: world.now(), random: world.random(10) }).replace("ses_", "msg_");
  const about = topic === undefined ? {} : { topic };
  const output = { message, to };
  let number = 0;
  const [sent] = await writer.together(
    [
      {
        session: from,
        epoch: call?.epoch,
        build: (state) => {
          number = (state.standing.sent.get(to) ?? 0) + 1;
          const inCall = call === undefined ? {} : { call: call.id, output };
          return { do: "send", to, message, text, ...about, ...inCall };
        },
      },
      { session: to, build: () => ({ do: "receive", from, message, number, text, ...about }) },
    ],
    { actor: call?.actor ?? actor },
  );
  return { message, to, seq: sent?.firstSeq ?? 0 };
}
