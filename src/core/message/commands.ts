/** Commands on messages between sessions, and the contracts of their topics. */

export type MessageCommand =
  | {
      readonly do: "send";
      readonly to: string;
      /** The session that `to` continues, if the message is addressed to that. */
      readonly heirOf?: string | undefined;
      readonly message: string;
      readonly text: string;
      readonly topic?: string;
      /** The request that this replies to. */
      readonly replyTo?: string;
      /** The session before this one that the request was sent to. */
      readonly as?: string | undefined;
      /** Makes it a request: the deadline of the reply. */
      readonly deadlineMs?: number;
      /** The address of the other store, if the receiver lives elsewhere. */
      readonly place?: string;
      /** The call that sends it. */
      readonly call?: string;
      readonly output?: unknown;
    }
  | {
      readonly do: "receive";
      readonly from: string;
      readonly message: string;
      readonly number: number;
      readonly text: string;
      readonly topic?: string;
      readonly replyTo?: string;
      /** The session that the request was sent to, if the sender continues it. */
      readonly as?: string | undefined;
      readonly deadlineMs?: number;
      /** A note for the receiver about a request or a reply, besides its text. */
      readonly note?: string;
      /** The address of the sender's store, if that is another one. */
      readonly place?: string;
    }
  /** What was sent here went to the session that continues this one. */
  | { readonly do: "redirect"; readonly to: { readonly session: string; readonly seq: number } }
  /** A message to another store has been delivered. */
  | { readonly do: "deliver"; readonly message: string }
  /** A message was rejected, or a request got no reply in time. */
  | {
      readonly do: "refuse";
      readonly message: string;
      readonly error: string;
      readonly reason?: string;
      /** The text of the input that reports it to the session. */
      readonly text?: string;
    }
  | {
      readonly do: "contract";
      readonly topic: string;
      /** A JSON Schema, validated by the caller. */
      readonly schema: unknown;
      readonly digest: string;
    };
