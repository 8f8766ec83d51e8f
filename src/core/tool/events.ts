/** Events of tools: resource bindings, permissions, tool calls. */
import { ifGiven, after, because, valueText } from "../summary-text.ts";
import { count } from "../text/number-format.ts";
import { sha, reason } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
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

/** The paths of changed files, with a sign each; of many only the first. */
function changedPaths(detail: unknown): string {
  const { files, unkept } = (detail ?? {}) as { readonly files?: unknown; readonly unkept?: unknown };
  const list = (Array.isArray(files) ? files : []) as { path?: unknown; before?: unknown; after?: unknown }[];
  const paths = list.slice(0, 20).map((file) => {
    const sign = file.before === null ? "+" : file.after === null ? "-" : "~";
    return `${sign}${valueText(file.path)}`;
  });
  const more = list.length > paths.length ? [`and ${list.length - paths.length} more`] : [];
  return [...paths, ...more, ...(unkept === undefined ? [] : [valueText(unkept)])].join(" ");
}

const toolNames = (definitions: unknown): readonly string[] =>
  (Array.isArray(definitions) ? (definitions as { readonly name?: unknown }[]) : []).map(({ name }) =>
    valueText(name),
  );

export const toolEvents = {
  "resource.bound": event({
    // A program without sandbox support would run the shell without it. It refuses to run version 2.
    v: 2,
    written: (content: unknown) => ((content as { sandbox?: unknown } | undefined)?.sandbox === true ? 2 : 1),
    meaning: "The session may use a resource: a file, directory, database, MCP server, shell or tool.",
    erased: "A resource of this kind was bound under this name; bind it again to use it.",
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
      /** Version 2: a sandboxed shell, and whether its commands may use the network. */
      sandbox: z.boolean().optional(),
      network: z.boolean().optional(),
    }),
    summary: ({ name, kind, mode }, content) =>
      `Bound ${kind}${name === kind ? "" : ` ${name}`}` +
      (["file", "directory", "database"].includes(kind) ? ` (${mode})` : "") +
      after(content?.path ?? content?.url),
    sample: {
      body: { name: "rates", kind: "file", mode: "read" },
      content: {
        path: "rates.json",
        url: "file:///rates.json",
        command: ["cat", "rates.json"],
        secrets: ["RATES_TOKEN"],
        options: { watch: true },
      },
    },
  }),
  "resource.unbound": bare({
    meaning: "The session may no longer use the resource.",
    body: z.looseObject({ name: Key }),
    summary: ({ name }) => `Unbound ${name}`,
    sample: { body: { name: "rates" } },
  }),
  "resource.changed": event({
    meaning: "A bound resource changed.",
    erased: "It changed to this digest; the details are erased.",
    body: z.looseObject({ name: Key, digest: Sha256 }),
    content: z
      .looseObject({
        /** Of a directory: `files`, each with its path and its version before and after. */
        detail: Json,
        /** The contents that the detail refers to. */
        blocks: z.array(ContentBlock).optional(),
      })
      .optional(),
    summary: ({ name }, content) => `${name} changed${after(changedPaths(content?.detail))}`,
    sample: { body: { name: "rates", digest: sha }, content: { detail: { lines: 3 } } },
  }),
  "tools.bound": event({
    meaning: "From here on the model is offered these tools.",
    erased: "So many tools were offered; their names and definitions are erased.",
    body: z.looseObject({ digest: Sha256, count: Count.optional(), tools: z.array(ToolName).optional() }),
    content: z.looseObject({ definitions: Json }),
    summary: ({ count: bound, tools }, content) =>
      `Tools offered: ${(tools ?? toolNames(content?.definitions)).join(", ") || count(bound ?? 0)}`,
    sample: {
      body: { digest: sha, count: 2, tools: ["files.read", "shell"] },
      content: { definitions: [{ name: "files.read" }, { name: "shell" }] },
    },
  }),
  "permission.set": event({
    meaning: "A rule allows, denies or asks about calls of a tool, or is removed.",
    erased:
      "The rule is known but not the arguments it was for: a deny or an ask holds for every call of the " +
      "tool, an allow for none, until it is set again.",
    body: z.looseObject({
      name: Key,
      tool: ToolPattern,
      rule: z.enum(["allow", "ask", "deny", "none"]),
      /** Only tools of this effect: the rule is a default, for calls without another rule. */
      effect: z.enum(["unsafe"]).optional(),
    }),
    content: z.looseObject({ pattern: Json.optional(), reason: z.string().optional() }).optional(),
    summary: ({ name, tool, rule, effect }, content) =>
      (rule === "none" ? `Permission ${name} removed` : `Permission: ${rule} ${tool}`) +
      ifGiven(effect, (word) => ` (${word} calls)`) +
      (name === tool || rule === "none" ? "" : `, rule ${name}`) +
      because(content),
    sample: {
      body: { name: "shell", tool: "shell", rule: "ask" },
      content: { pattern: { command: "git *" }, reason: "it writes" },
    },
  }),
  "tool.requested": event({
    // A program without external calls would look for the tool here. It refuses to run version 2.
    v: 2,
    written: (_, body) => ((body as { external?: unknown }).external === undefined ? 1 : 2),
    meaning: "The model requested a tool call.",
    erased: "This tool was requested; the arguments are erased.",
    body: z.looseObject({
      call: CallId,
      tool: ToolName,
      effect: z.enum(["read", "idempotent", "unsafe", "session"]),
      ask: z.boolean().optional(),
      /** The model that requested it. */
      model: ModelName.optional(),
      /** Version 2: an external call. Nothing runs here; the outcome comes from outside, by the deadline. */
      external: z.looseObject({ deadlineMs: Millis }).optional(),
    }),
    content: z.looseObject({
      input: Json,
      /** Of a call that needs approval: the exact command. A saved approval covers only this. */
      command: z
        .looseObject({ text: z.string(), directory: z.string(), binding: Json.optional() })
        .optional(),
    }),
    summary: ({ tool, ask, external }, content) =>
      `${external === undefined ? "Call" : "External call"} of ${tool}` +
      (ask === true ? ", approval required" : "") +
      ifGiven(content, ({ input }) => after(valueText(input))),
    sample: {
      body: { call: "call_1", tool: "files.read", effect: "read", ask: true, model: "acme/large-2" },
      content: { input: { path: "rates.json" } },
    },
  }),
  "tool.approved": event({
    meaning: "A person or a rule allowed the call.",
    erased: "The call was allowed; the reason is erased.",
    body: z.looseObject({ call: CallId }),
    content: z.looseObject({ reason: z.string() }).optional(),
    summary: ({ call }, content) => `Call ${call} approved${because(content)}`,
    sample: { body: { call: "call_1" }, content: reason },
  }),
  "tool.denied": event({
    meaning: "A person or a rule forbade the call; it is settled as skipped.",
    erased: "The call was denied; the reason is erased.",
    body: z.looseObject({ call: CallId }),
    content: z.looseObject({ reason: z.string() }).optional(),
    summary: ({ call }, content) => `Call ${call} denied${because(content)}`,
    sample: { body: { call: "call_1" }, content: reason },
  }),
  "tool.started": bare({
    meaning: "The call is about to run; from here a crash leaves its outcome unknown.",
    body: z.looseObject({ call: CallId, attempt: Count }),
    summary: ({ call, attempt }) => `Call ${call} started${attempt > 1 ? `, attempt ${attempt}` : ""}`,
    sample: { body: { call: "call_1", attempt: 1 } },
  }),
  "tool.settled": event({
    meaning: "The call has its outcome: ok, error, unknown or skipped.",
    erased: "The call has this outcome; its output is erased.",
    body: z.looseObject({
      call: CallId,
      status: z.enum(["ok", "error", "unknown", "skipped"]),
      ms: Millis.optional(),
      /**
       * A result that arrived after the call was settled as unknown: evidence, never applied automatically.
       */
      late: z.boolean().optional(),
      /** The result of an external call: the caller sent it, and nothing here checked what happened. */
      untrusted: z.boolean().optional(),
    }),
    content: z
      .looseObject({
        output: Json,
        /** Images, and the whole of a long output; then `output` is its beginning and end. */
        blocks: z.array(ContentBlock).optional(),
        detail: Json.optional(),
      })
      .optional(),
    summary: ({ call, status, ms, late }, content) =>
      `${late === true ? "Late result of call" : "Call"} ${call}: ${status}` +
      ifGiven(ms, (took) => ` after ${count(took)} ms`) +
      ifGiven(content, ({ output }) => after(valueText(output))),
    sample: {
      body: { call: "call_1", status: "ok", ms: 12, late: false },
      content: { output: { base: 4.1 } },
    },
  }),
} satisfies Record<string, CatalogEntry>;
