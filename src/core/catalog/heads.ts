/** Events of lists of heads, in the workspace's own log: by them a log whose tail was cut is found. */
import * as z from "zod";
import { Count, event, Reason, Seq, Sha256 } from "./entry.ts";

const Encoded = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/);

export const headsEvents = {
  "heads.listed": event({
    meaning: "The heads of the logs that changed since the last list, or of all logs, were listed.",
    erased: "That many heads were listed under this root; which ones is gone.",
    body: z.looseObject({
      count: Count,
      /** A list of all logs begins here: those before need not be read. */
      full: z.boolean().optional(),
      /** The Merkle root of this list. */
      merkle: Sha256,
      /** The root of the list before, and the one that this list has by it. */
      before: Sha256,
      root: Sha256,
      /** Absent where the process that made it had no key. */
      publicKey: Encoded.optional(),
      signature: Encoded.optional(),
    }),
    content: z.looseObject({ heads: z.array(z.tuple([z.string(), Seq, Sha256])) }),
  }),
  "heads.accepted": event({
    meaning: "A person accepted the logs as they are now, though lists or an anchor name records beyond.",
    erased: "It was accepted; the reason is gone.",
    body: z.looseObject({
      /** Logs that were shorter than listed, other, or gone. */
      count: Count,
      /** The anchor that the workspace's own log no longer reaches. */
      anchor: z.looseObject({ seq: Seq, hash: Sha256 }).optional(),
    }),
    content: z.looseObject({ reason: Reason }),
  }),
};
