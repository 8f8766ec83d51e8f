/** Small schemas that the bodies and contents of events share. */
import { limit } from "./limit.ts";
import * as z from "zod";

const line = /^[^\u0000-\u001f\u007f]*$/u;

export const Seq = z.int().positive();

export const Count = z.int().nonnegative();

/** Milliseconds: a time since 1970, or a duration. */
export const Millis = z.int().nonnegative();

/** Money in whole nano-dollars. Null means an unknown price, which is not zero. */
export const NanoUsd = z.int().nonnegative();

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const SessionRef = z.string().regex(/^ses_[0-9a-z]{26}$/);

export const ProjectRef = z.string().regex(/^prj_[0-9a-z]{26}$/);
export const WorkspaceRef = z.string().regex(/^wsp_[0-9a-z]{26}$/);

/** Keys of items and scratch, names of checkpoints, bindings, triggers: one line, never free text. */
export const Key = z
  .string()
  .min(1, "a name or key cannot be empty")
  .max(limit.keyCharsMax, `a name or key has at most ${limit.keyCharsMax} characters`)
  .regex(line, "a name or key is one line, without control characters");

export const AgentName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "an agent's name has up to 64 lower-case letters, digits and . _ -");

export const ToolName = z
  .string()
  .regex(/^[A-Za-z0-9_.:/-]{1,128}$/, "a tool's name has up to 128 letters, digits and _ . : / -");

/** A tool's name, or names with a `*` in them. */
export const ToolPattern = z
  .string()
  .regex(
    /^[A-Za-z0-9_.:/*-]{1,128}$/,
    "a tool's name has up to 128 letters, digits and _ . : / -; a * stands for anything",
  );

/** `provider/model`. */
export const ModelName = z
  .string()
  .regex(
    /^[A-Za-z0-9_.-]{1,64}\/[A-Za-z0-9_.:@/-]{1,128}$/,
    'expected "provider/model", such as anthropic/claude-sonnet-5',
  );

export const CallId = z.string().regex(/^[A-Za-z0-9_.:-]{1,128}$/);

export const Word = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/);

export const LabelKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._/-]{0,63}$/, "a label has up to 64 lower-case letters, digits and . _ / -");

export const LabelValue = z
  .string()
  .regex(
    /^[A-Za-z0-9 _.:@/-]{0,100}$/,
    "a label's value has up to 100 letters, digits, spaces and _ . : @ / -",
  );

export const RangeList = z.array(z.tuple([Seq, Seq]));

/** Inputs that a request consumes: the position of each, and its number in the inbox. */
export const Taken = z.array(z.tuple([Seq, Seq])).max(limit.takenMax);

export const Position = z.looseObject({ session: SessionRef, seq: Seq });

export const Reason = z.string().max(limit.reasonCharsMax);

/** The content of an event that may carry a reason and nothing else. */
export const MayReason = z.looseObject({ reason: Reason }).optional();

/** Any JSON. `checkJson` validates it, for every content alike. */
export const Json = z.unknown();

/** Limits of a budget and amounts of an allotment. Absent means unlimited, or nothing. */
export const Amounts = z.looseObject({
  tokens: Count.optional(),
  nanoUsd: NanoUsd.optional(),
  steps: Count.optional(),
  turns: Count.optional(),
  toolCalls: Count.optional(),
  wallMs: Millis.optional(),
});

/** Tokens of a model call, as the provider counted them. */
export const Usage = z.looseObject({
  inputTokens: Count,
  outputTokens: Count,
  cachedInputTokens: Count.optional(),
  cacheWriteTokens: Count.optional(),
  reasoningTokens: Count.optional(),
  /** True if the provider reported no usage and Skein counted. */
  estimated: z.boolean().optional(),
});

/** Blocks as the log stores them: Skein's own, the same for every provider. */
export const ContentBlock = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image"), blob: Sha256, mediaType: z.string() }),
  z.looseObject({
    type: z.literal("file"),
    blob: Sha256,
    mediaType: z.string(),
    name: z.string().optional(),
  }),
  z.looseObject({ type: z.literal("reasoning"), text: z.string() }),
  /** The arguments are in the `tool.requested` of the same call. */
  z.looseObject({ type: z.literal("tool-call"), call: CallId, tool: ToolName, input: Json.optional() }),
  z.looseObject({ type: z.literal("tool-result"), call: CallId, output: Json }),
]);

export type ContentBlock = z.infer<typeof ContentBlock>;

export const Blocks = z.looseObject({ blocks: z.array(ContentBlock) });

export const Name = z.string().min(1).max(limit.nameCharsMax);

export const Objective = z.string().max(limit.objectiveCharsMax);

/** Which of the two the content holds: the fold never reads contents. */
export const Has = z.array(z.enum(["objective", "name"]));
