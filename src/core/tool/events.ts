/** Events of tools: resource bindings, permissions, tool calls. */
import { type Entry, bare, event } from "../catalog-entry.ts";
import {
  ContentBlock,
  CallId,
  Count,
  Json,
  Key,
  Millis,
  ModelName,
  Sha256,
  ToolName,
  ToolPattern,
} from "../schema.ts";
import * as z from "zod";

export const toolEvents = {
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
        blocks: z.array(ContentBlock).optional(),
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
        blocks: z.array(ContentBlock).optional(),
        detail: Json.optional(),
      })
      .optional(),
  }),
} satisfies Record<string, Entry>;
