/** Events of hooks, in the workspace's own log: which addresses are told of what happens. */
import * as z from "zod";
import {
  AgentName,
  Count,
  event,
  bare,
  Key,
  LabelKey,
  LabelValue,
  MayReason,
  Seq,
  SessionRef,
} from "./entry.ts";

/** A position of the feed, as the store gave it. */
const Place = z.string().max(500);

export const hookEvents = {
  "hook.set": event({
    meaning: "From this position of the feed on, an address is told of these events.",
    erased: "There was a hook of this name; where it told is gone, so it tells nobody.",
    body: z.looseObject({
      name: Key,
      /** Types of events, or the beginning of some: `turn.*`, or `*`. */
      events: z
        .array(z.string().regex(/^(\*|[a-z][a-z0-9._-]{0,60}(\.\*)?)$/))
        .min(1)
        .max(50),
      from: Place,
      session: SessionRef.optional(),
      agent: AgentName.optional(),
      labels: z.record(LabelKey, LabelValue).optional(),
      /** The name of the variable that holds what deliveries are signed with; never its value. */
      signedBy: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/),
    }),
    content: z.looseObject({ url: z.string() }),
  }),
  "hook.removed": event({
    meaning: "The address is told no more.",
    erased: "It was removed; the reason is gone.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
  }),
  "hook.delivered": bare(
    "Everything up to this position of the feed was told, or given up.",
    z.looseObject({ name: Key, setSeq: Seq, to: Place, count: Count }),
  ),
  "hook.abandoned": bare(
    "An event could not be told within a day, and was given up.",
    z.looseObject({ name: Key, setSeq: Seq, log: z.string().max(64), seq: Seq, attempts: Count }),
  ),
};
