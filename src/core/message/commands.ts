/** Commands on messages between sessions, and the contracts of their topics. */

export type MessageCommand =
  | {
      readonly do: "send";
      readonly to: string;
      readonly message: string;
      readonly text: string;
      readonly topic?: string;
      /** The request that this is the reply to. */
      readonly replyTo?: string;
      /** Makes a request of it: until when a reply is wanted. */
      readonly deadlineMs?: number;
      /** Where the other store is, when the receiver does not live in this one. */
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
      readonly deadlineMs?: number;
      /** What the receiver is told of a request or a reply besides its text. */
      readonly note?: string;
      /** Where the sender lives, when that is another store. */
      readonly place?: string;
    }
  /** A message to another store has arrived there. */
  | { readonly do: "deliver"; readonly message: string }
  /** A message was not accepted, or a request had no reply in time. */
  | {
      readonly do: "refuse";
      readonly message: string;
      readonly error: string;
      readonly reason?: string;
      /** What the session is told of it, as an input. */
      readonly text?: string;
    }
  | {
      readonly do: "contract";
      readonly topic: string;
      /** A JSON Schema, checked by the caller. */
      readonly schema: unknown;
      readonly digest: string;
    };
