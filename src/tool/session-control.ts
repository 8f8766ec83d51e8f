/**
 * Tools with which a model directs its own session: checkpoints, rewinds, merges, triggers. A session has
 * them only if they are bound: `{ kind: "tool", name: "rewind" }`.
 */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import { present } from "../core/present.ts";
import { Key as StoredKey } from "../core/schema.ts";
import { defineSessionTool } from "./define.ts";
import type { SessionTool } from "./port.ts";

const Key = z.string().refine((key) => StoredKey.safeParse(key).success, {
  message: `expected one line of 1 to ${limit.keyCharsMax} characters`,
});
const Because = z
  .string()
  .min(1)
  .max(limit.reasonCharsMax)
  .refine((text) => text.trim() !== "", { message: "expected a reason" });

const save = defineSessionTool({
  name: "save",
  description:
    "Give this point of the session a name, to rewind to it if what comes next turns out wrong. The same " +
    "name again moves it here.",
  input: z.strictObject({
    name: Key.describe("A word, such as before-refactoring"),
    note: z.string().max(limit.reasonCharsMax).optional().describe("What it is for"),
  }),
  act: (input) => ({ act: "save", ...present(input) }),
});

const rewind = defineSessionTool({
  name: "rewind",
  description:
    "Go back to a saved point and forget what came after it: messages, records, scratch. What was done to " +
    "files and elsewhere stays done. You are told the reason there and go on from there, so put into it " +
    "what you learned. Call it alone, not with other calls.",
  input: z.strictObject({
    to: Key.describe("The name of a saved point"),
    because: Because.describe("Why, and what to do differently"),
  }),
  act: (input) => ({ act: "rewind", ...input }),
});

const merge = defineSessionTool({
  name: "merge",
  description:
    "Take over what a fork or child of this session recorded. Where both changed the same item nothing is " +
    "merged, and you get the conflicts: call it again and say for each whose value holds.",
  input: z.strictObject({
    from: z.string().min(4).max(limit.nameCharsMax).describe("The id of the fork or child, ses_…"),
    resolve: z
      .record(z.string(), z.enum(["ours", "theirs"]))
      .optional()
      .describe("For each conflict, by its name: ours or theirs"),
  }),
  act: (input) => ({ act: "merge", ...present(input) }),
});

const handoff = defineSessionTool({
  name: "handoff",
  description:
    "Write the handoff of this session: what was decided, what is open, what failed, each with a pointer. " +
    "Gives back the document, which a next session begins with.",
  input: z.strictObject({}),
  act: () => ({ act: "handoff" }),
});

const everySecondsMin = 60;

const trigger = defineSessionTool({
  name: "trigger",
  description:
    "Set a time at which this session is woken with a message, once (at), at an interval (everySeconds) or " +
    "by a cron line (cron). The same name again replaces it; with none of these it is removed.",
  input: z
    .strictObject({
      name: Key.describe("Its name, such as morning"),
      at: z.iso.datetime({ offset: true }).optional().describe("A time with a zone, 2026-12-01T09:00:00Z"),
      everySeconds: z
        .int()
        .min(everySecondsMin)
        .max(31_536_000)
        .optional()
        .describe(`At least ${everySecondsMin}`),
      cron: z.string().min(1).max(200).optional().describe('Such as "0 9 * * 1"'),
      zone: z
        .string()
        .max(100)
        .optional()
        .describe("Of the cron line, such as Europe/Berlin; by default UTC"),
    })
    .refine(
      ({ at, everySeconds, cron }) => [at, everySeconds, cron].filter((one) => one !== undefined).length < 2,
      {
        message: "specify one of at, everySeconds and cron",
      },
    )
    .refine(({ zone, cron }) => zone === undefined || cron !== undefined, {
      path: ["zone"],
      message: "requires cron",
    }),
  act: ({ name, at, everySeconds, cron, zone }) => {
    const spec =
      at !== undefined
        ? ({ kind: "at", at: Date.parse(at) } as const)
        : everySeconds !== undefined
          ? ({ kind: "every", everyMs: everySeconds * 1_000 } as const)
          : cron !== undefined
            ? ({ kind: "cron", cron, ...present({ zone }) } as const)
            : undefined;
    return { act: "trigger", name, ...present({ spec }) };
  },
});

const compress = defineSessionTool({
  name: "compress",
  description:
    "Have the older part of this conversation replaced by a summary before the next step, to make room. " +
    "What is recorded stays as it is, and recall still reads what was replaced.",
  input: z.strictObject({
    instructions: z
      .string()
      .min(1)
      .max(limit.reasonCharsMax)
      .optional()
      .describe("What the summary must keep"),
  }),
  act: (input) => ({ act: "compress", ...present(input) }),
});

/** Offered only where they are bound. */
export const controlTools: readonly SessionTool[] = [save, rewind, merge, handoff, trigger, compress];
