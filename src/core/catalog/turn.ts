/** Events of bootstrap, turns and tool calls. */
import * as z from "zod";
import {
  AgentName,
  Amounts,
  bare,
  Block,
  Blocks,
  CallId,
  Count,
  event,
  Json,
  Key,
  Millis,
  ModelName,
  NanoUsd,
  Position,
  Seq,
  Sha256,
  Taken,
  ToolName,
  ToolPattern,
  Usage,
  Word,
} from "./entry.ts";

export const bootstrapEvents = {
  "agent.pinned": event({
    meaning: "The session works under this version of an agent.",
    erased: "The agent's name and version are known; its text must be read from the workspace.",
    body: z.looseObject({ agent: AgentName, version: Count, digest: Sha256 }),
    content: z.looseObject({ definition: Json }),
  }),
  "document.loaded": event({
    meaning: "A document came into the mind: AGENTS.md, an initial file, a handoff.",
    erased: "A document of this kind and size was loaded; its path and text are gone.",
    body: z.looseObject({ kind: z.enum(["agents-md", "file", "handoff"]), digest: Sha256, bytes: Count }),
    content: z.looseObject({ path: z.string().optional(), text: z.string() }),
  }),
  "memory.carried": event({
    meaning: "Items of earlier sessions came along, each with its origin.",
    erased: "These items were carried; their values are gone here, not where they came from.",
    body: z.looseObject({ count: Count, tokens: Count.optional() }),
    content: z.looseObject({
      items: z.array(
        z.looseObject({
          scope: Word,
          kind: Word,
          key: Key,
          value: Json,
          why: z.string().optional(),
          origin: Position.optional(),
        }),
      ),
    }),
  }),
  "resource.bound": {
    // A program that does not know the sandbox would run the shell without it. Under 2 it refuses to run.
    v: 2,
    written: (content: unknown) => ((content as { sandbox?: unknown } | undefined)?.sandbox === true ? 2 : 1),
    meaning: "The session may use a resource: a file, directory, database, MCP server, shell or tool.",
    erased: "Something of this kind was bound under this name; it cannot be used until it is bound again.",
    body: z.looseObject({
      name: Key,
      kind: z.enum(["file", "directory", "database", "mcp", "shell", "tool"]),
      mode: z.enum(["read", "write"]),
    }),
    content: z.looseObject({
      path: z.string().optional(),
      url: z.string().optional(),
      command: z.array(z.string()).optional(),
      /** Names of secrets, never their values. */
      secrets: z.array(z.string()).optional(),
      options: Json.optional(),
      /** Version 2: a shell whose commands run in a sandbox, and whether they may use the network. */
      sandbox: z.boolean().optional(),
      network: z.boolean().optional(),
    }),
  },
  "resource.unbound": bare("The session may no longer use the resource.", z.looseObject({ name: Key })),
  "resource.changed": event({
    meaning: "A bound resource is not what it was.",
    erased: "It changed to this digest; the details are gone.",
    body: z.looseObject({ name: Key, digest: Sha256 }),
    content: z
      .looseObject({
        /** Of a directory: `files`, each with its path and its version before and after. */
        detail: Json,
        /** The contents that the detail names. */
        blocks: z.array(Block).optional(),
      })
      .optional(),
  }),
  "tools.bound": event({
    meaning: "From here on the model is offered these tools.",
    erased: "So many tools were offered; their names and definitions are gone.",
    body: z.looseObject({ digest: Sha256, count: Count.optional(), tools: z.array(ToolName).optional() }),
    content: z.looseObject({ definitions: Json }),
  }),
  "permission.set": event({
    meaning: "Calls of a tool are allowed, asked about, denied, or no longer ruled on.",
    erased:
      "The rule is known but not the arguments it was for: a deny or an ask holds for every call of the " +
      "tool, an allow for none, until it is set again.",
    body: z.looseObject({
      name: Key,
      tool: ToolPattern,
      rule: z.enum(["allow", "ask", "deny", "none"]),
      /** Only tools of this effect: the rule is a default, for calls that no other rule is about. */
      effect: z.enum(["unsafe"]).optional(),
    }),
    content: z.looseObject({ pattern: Json.optional(), reason: z.string().optional() }).optional(),
  }),
  "contract.declared": event({
    meaning: "Messages on this topic must fit this schema.",
    erased: "A contract was declared; its schema is gone, so no message fits it.",
    body: z.looseObject({ topic: Key, digest: Sha256 }),
    content: z.looseObject({ schema: Json }),
  }),
};

export const turnEvents = {
  "turn.started": bare(
    "A turn begins and takes up these inputs; here they stand in the transcript.",
    z.looseObject({ inputs: Taken }),
  ),
  "turn.ended": bare(
    "The turn is over; the hash of the mind is what the fold must give at this position.",
    z.looseObject({
      outcome: z.enum(["completed", "interrupted", "cancelled", "failed", "refused", "length", "suspended"]),
      steps: Count,
      mindForm: Count,
      mindHash: Sha256,
    }),
  ),
  "input.received": event({
    meaning: "Something for the session to take up, from a person, a trigger or a program.",
    erased: "There was an input here; what it said is gone.",
    body: z.looseObject({
      /** Its number in the inbox: 1, 2, 3… */
      input: Seq,
      /** Absent: a user. */
      from: z.enum(["user", "trigger", "system"]).optional(),
      /** `queue`: for the next turn. `steer`: for the next step of the turn in progress. */
      mode: z.enum(["queue", "steer"]).optional(),
      /** What it is about, where that was said. */
      topic: Key.optional(),
    }),
    content: Blocks,
  }),
  "model.requested": event({
    meaning: "The context with this digest is about to be sent to a model; what it may cost is reserved.",
    erased: "The request was made; its settings are gone, so this context can no longer be rebuilt.",
    body: z.looseObject({
      model: ModelName,
      /** Absent: a step of the turn. `compaction`: a summary of the transcript up to `toSeq` is asked for. */
      purpose: z.enum(["step", "compaction"]).optional(),
      toSeq: Seq.optional(),
      renderer: Count,
      context: Sha256,
      parts: Count,
      /** Inputs that are taken up with this step. */
      inputs: Taken,
      attempt: Count,
      reserved: Amounts,
      estimatedTokens: Count.optional(),
      /** The most that may come back: what the model can do, or what the budget still allows. */
      outputTokensMax: Count.optional(),
    }),
    content: z.looseObject({ settings: Json, prompt: z.string().optional() }).optional(),
  }),
  "model.responded": event({
    meaning: "The model answered; usage and cost are final.",
    erased: "The model answered; what it said is gone, what it cost is not.",
    body: z.looseObject({
      model: ModelName,
      finish: z.enum(["stop", "tool-calls", "length", "refusal", "content-filter", "other"]),
      usage: Usage,
      costNanoUsd: NanoUsd.nullable(),
      /** Hash of the body that was really sent, as evidence. */
      sent: Sha256.optional(),
      ms: Millis.optional(),
    }),
    content: Blocks,
  }),
  "model.failed": event({
    meaning: "The model call came to nothing; what it cost, if anything, is counted.",
    erased: "The call failed in this way; the provider's words are gone.",
    body: z.looseObject({
      model: ModelName,
      error: Word,
      retryable: z.boolean(),
      /** As far as the provider reported it, or Skein counted what was streamed. */
      usage: Usage.optional(),
      /** Null: the price is not known, or the call was lost. */
      costNanoUsd: NanoUsd.nullable(),
      /** The most that it may have used besides. Absent up to 0.4: then with a null cost, the reservation. */
      unconfirmed: Amounts.optional(),
      /** The call was given up as lost, and this is what it cost after all: so much is no longer counted. */
      released: Amounts.optional(),
      /** Characters of `partial`; absent when nothing was said. */
      partialChars: Count.optional(),
    }),
    /** `partial`: the text that was streamed before the call ended. */
    content: z.looseObject({ message: z.string(), partial: z.string().optional() }).optional(),
  }),
  "zone.crossed": bare(
    "The context is fuller or older than before, or emptier.",
    z.looseObject({
      zone: z.enum(["smart", "strained", "full"]),
      tokens: Count,
      windowTokens: Count,
      /** The thresholds that put it there: `share` of the window, `tokens`, `turns`, `age`. From 0.5 on. */
      by: z.array(Word).max(8).optional(),
      /** Since the opening or the last compaction. */
      turns: Count.optional(),
      ageMs: Millis.optional(),
    }),
  ),
};

export const toolEvents = {
  "tool.requested": event({
    meaning: "The model asked for a tool call.",
    erased: "This tool was asked for; the arguments are gone.",
    body: z.looseObject({
      call: CallId,
      tool: ToolName,
      effect: z.enum(["read", "idempotent", "unsafe", "session"]),
      ask: z.boolean().optional(),
      /** The model that asked. */
      model: ModelName.optional(),
    }),
    content: z.looseObject({
      input: Json,
      /** Of a call that is asked about: what exactly runs. An approval that is saved holds for this only. */
      command: z
        .looseObject({ text: z.string(), directory: z.string(), binding: Json.optional() })
        .optional(),
    }),
  }),
  "tool.approved": event({
    meaning: "A person or a rule allowed the call.",
    erased: "The call was allowed; the reason is gone.",
    body: z.looseObject({ call: CallId }),
    content: z.looseObject({ reason: z.string() }).optional(),
  }),
  "tool.denied": event({
    meaning: "A person or a rule forbade the call; it is settled as skipped.",
    erased: "The call was denied; the reason is gone.",
    body: z.looseObject({ call: CallId }),
    content: z.looseObject({ reason: z.string() }).optional(),
  }),
  "tool.started": bare(
    "The call is about to run; from here a crash leaves its outcome unknown.",
    z.looseObject({ call: CallId, attempt: Count }),
  ),
  "tool.settled": event({
    meaning: "The call has its outcome: ok, error, unknown or skipped.",
    erased: "The call ended so; what it gave back is gone.",
    body: z.looseObject({
      call: CallId,
      status: z.enum(["ok", "error", "unknown", "skipped"]),
      ms: Millis.optional(),
      /** A result that came in after the call was settled as unknown: evidence, never applied by itself. */
      late: z.boolean().optional(),
    }),
    content: z
      .looseObject({
        output: Json,
        /** Images, and a long output whole; then `output` is its beginning and end. */
        blocks: z.array(Block).optional(),
        detail: Json.optional(),
      })
      .optional(),
  }),
};
