/** Calls that set the standing of a session: its name, resources, limits, triggers and holds. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import { reactions } from "../core/trigger/trigger.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, SessionId, Text, AppendResult } = answer;
const { reason, dryRun } = field;
const RangeOf = z.tuple([field.Seq, field.Seq]);

const resources = {
  "session.rename": change("session", "rename", {
    title: "Rename",
    summary: "Gives it a name.",
    args: ["name"],
    params: () => ({ name: field.Name.describe("the new name; lists show it instead of the objective") }),
    answer: AppendResult,
    verb: {
      group: "Sessions",
      line: "Give a session another name.",
      done: "renamed",
      examples: ['skein rename 4x8kz1 "Login, second try"  # lists show the name instead of the objective'],
    },
  }),
  "session.label": change("session", "label", {
    title: "Label",
    asks: true,
    summary: "Sets and removes labels.",
    args: ["set"],
    params: () => ({
      set: field.Labels.describe("labels to set, by key"),
      remove: z.array(z.string()).max(limit.labelsMax).describe("remove this label").exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Sessions",
      line: "Set or remove labels of a session.",
      flags: { remove: { value: "KEY" } },
      done: "labeled",
      examples: [
        "skein label 4x8kz1 team=hr ticket=4711  # set two",
        "skein label 4x8kz1 --remove ticket  # remove one",
      ],
    },
  }),
  "session.prioritize": change("session", "prioritize", {
    title: "Prioritize",
    summary: "Sets how urgent it is: 0 is the most urgent, 9 the least.",
    args: ["priority"],
    params: () => ({
      priority: z.int().min(0).max(limit.priorityMax).describe("from 0, the most urgent, to 9"),
    }),
    answer: AppendResult,
    verb: {
      group: "Sessions",
      line: "Make a session more or less urgent, from 0 (most) to 9.",
      done: "priority {priority}",
      examples: ["skein prioritize 4x8kz1 0  # before all others"],
    },
  }),
  "session.bind": change("session", "bind", {
    title: "Bind a resource",
    summary: "Allows the session to use a resource; any but a tool needs the scope operate.",
    params: field.bindingFields,
    answer: AppendResult,
    verb: {
      group: "Resources and limits",
      line: "Let a session use a resource: a file, directory, database, MCP server, shell or tool.",
      args: ["kind"],
      flags: { command: { value: "WORD" }, secrets: { value: "NAME" } },
      done: "bound",
      about: [
        `KIND is ${field.bindingFields().kind.options.join(", ")}. A relative path is resolved here, also ` +
          "for a session that runs elsewhere. A shell needs nothing else; it works in --path, or where the " +
          "session runs. An MCP server is started by --command or found at --url. A tool is one that the " +
          "program which runs the session provides, by --name.",
        "With --sandbox a shell sees the files and directories that are bound to the session, with the " +
          "access of their binding, a private /tmp and no network. --path is then bound by --mode.",
        "The tools of a binding are available from the next run on; files and databases can be written " +
          'only with --mode write. "skein tools ID" lists the tools.',
      ],
      examples: [
        "skein bind 4x8kz1 file --path rates.json  # a file, to read",
        "skein bind 4x8kz1 directory --path ./src --mode write --name code  # a directory, to write",
        "skein bind 4x8kz1 shell --path .  # command lines, in this directory",
        "skein bind 4x8kz1 shell --sandbox --path . --mode write  # sandboxed, may write here",
        "skein bind 4x8kz1 mcp --name time --command npx --command time-server  # an MCP server over stdio",
        "skein bind 4x8kz1 database --url postgres://db/hr --secret HR_PASSWORD  # with a secret's name",
      ],
    },
  }),
  "session.unbind": change("session", "unbind", {
    title: "Unbind a resource",
    warning: "The session can no longer use it.",
    summary: "Removes a binding.",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the binding's name") }),
    answer: AppendResult,
    verb: {
      group: "Resources and limits",
      line: "Remove a resource from a session.",
      done: "unbound",
      examples: ['skein unbind 4x8kz1 rates.json  # by the name that "skein state" shows'],
    },
  }),
  "session.grant": change("session", "grant", {
    title: "Grant: set a rule for the calls of a tool",
    words: "permission allow deny",
    summary: "Sets a rule for the calls of a tool; an allow needs the scope operate.",
    params: field.permissionFields,
    answer: AppendResult,
    verb: {
      group: "Resources and limits",
      line: "Allow, ask about or deny the calls of a tool.",
      args: ["tool", "rule"],
      about: [
        `RULE is ${field.permissionRules.join(", ")}; none removes the rule. TOOL is a name, ` +
          "and * stands for any run of characters. A pattern is an object of arguments: texts in it may " +
          "have * and ?, everything else must be equal.",
        "A matching deny always wins. Otherwise the session's rules come before the agent's, in each set " +
          "rules with a pattern before the others, then ask before allow; without a rule the call is " +
          "allowed. A call under an ask rule suspends the " +
          'session until "skein answer". The model sees a denial.',
        "With --effect unsafe the rule is the default for tools that are not safe to run twice: it applies " +
          "where no other rule of session or agent does.",
      ],
      examples: [
        "skein grant 4x8kz1 shell ask  # each call needs an approval",
        `skein grant 4x8kz1 write_file deny --name no-etc --pattern '{"path":"/etc/*"}'  # some calls only`,
      ],
    },
  }),
  "session.budget": change("session", "budget", {
    title: "Set the budget",
    summary: "Sets its limits. A resource without a limit is unlimited.",
    args: ["limits"],
    params: () => ({ limits: field.Budget().describe("the limits; they replace those before"), reason }),
    answer: AppendResult,
    verb: {
      group: "Resources and limits",
      line: "Limit the use of a session, or show it; at a limit the session is suspended.",
      about: [
        "Without options it shows limits, use and what is left. New limits replace those before; a " +
          "resource without a limit is unlimited. Limits count everything that the session ever used, so " +
          "more is a higher limit; a session that a limit has suspended may continue then. Session tools " +
          "(record, recall, send …) do not count as tool calls.",
      ],
      examples: [
        "skein budget 4x8kz1  # what is used and what is left",
        "skein budget 4x8kz1 --usd 2 --steps 40  # two dollars and forty steps in all",
        "skein budget 4x8kz1 --unlimited  # remove all limits",
      ],
    },
  }),
};

const rules = {
  "session.trigger": change("session", "trigger", {
    title: "Set a trigger",
    summary:
      "Sets a trigger, which wakes it. For a webhook the result has the token, which is shown only once.",
    scope: "operate",
    args: ["name", "spec"],
    params: () => ({
      name: field.Key.describe("the trigger's name; one of the same name is replaced"),
      spec: field.Trigger().describe("the event that fires it"),
      missed: field.Missed.describe("how to make up for missed times; by default once").exactOptional(),
    }),
    answer: () => AppendResult().extend({ token: Text.optional() }),
  }),
  "session.untrigger": change("session", "untrigger", {
    title: "Remove a trigger",
    warning: "It no longer wakes the session.",
    summary: "Removes a trigger.",
    scope: "operate",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the trigger's name") }),
    answer: AppendResult,
  }),
  "session.onChange": change("session", "onChange", {
    title: "Watch a document or binding",
    words: "stale reload watch reactivate",
    summary:
      "Says what a change of a document or a bound resource does: mark the session as stale, reload it " +
      "into the context, wake the session as well, or ignore it. Workers watch it.",
    scope: "operate",
    args: ["source", "react"],
    params: () => ({
      source: field.Path.describe("the path of a document, or the name of a binding"),
      react: z.enum(["ignore", ...reactions]).describe("what a change does"),
      debounceMs: field.Span.describe(
        "how long it must be unchanged first; by default 300ms",
      ).exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      name: "on-change",
      group: "Lifecycle",
      line: "Say what a change of a document or binding does: ignore, mark, reload or wake.",
      done: "{react} when {source} changes",
      about: [
        "mark shows the session as stale. reload puts the difference into its context, from the next turn " +
          "on, and the new text takes the place of the old. wake also runs it, within its budget. Each " +
          "change counts once, however many workers there are.",
      ],
      examples: [
        "skein on-change 4x8kz1 rates.md wake  # a document that it was opened with",
        "skein on-change 4x8kz1 src mark  # a binding",
        "skein on-change 4x8kz1 rates.md ignore  # no longer",
      ],
    },
  }),
  "session.reload": change("session", "reload", {
    title: "Reload changed documents",
    words: "stale refresh",
    summary: "Loads documents that have changed again: the context shows the difference from here on.",
    scope: "operate",
    params: () => ({ source: field.Path.describe("only this document; by default all").exactOptional() }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      line: "Load the documents of a session again that have changed.",
      args: ["source?"],
      done: "reloaded",
      examples: [
        "skein reload 4x8kz1  # all that have changed",
        "skein reload 4x8kz1 rates.md  # one of them",
      ],
    },
  }),
  "session.fire": change("session", "fire", {
    title: "Fire a trigger",
    summary: "Fires a trigger by hand: the session gets an input, and wakes if it sleeps.",
    args: ["name"],
    params: () => ({
      name: field.Key.describe("the trigger's name"),
      text: z.string().describe("the text of the input").exactOptional(),
    }),
    answer: AppendResult,
  }),
  "session.hold": change("session", "hold", {
    title: "Hold: keep it from being erased",
    summary: "Protects it from erasure and deletion, until the hold of this name is lifted.",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the hold's name"), reason }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      line: "Protect a session from erasure and deletion until the hold is lifted.",
      args: ["name?"],
      about: [
        'A hold has a name, by default "hold", and a session may be under several. It stops erase, delete ' +
          "and every policy except packing; what is shared with forks stays too. The session continues as " +
          "before. The hold moves with its session, and is lifted where the session lives.",
      ],
      examples: [
        'skein hold 4x8kz1 "case 4711" --reason "asked for by the court"  # keep all of it',
        'skein hold 4x8kz1 "case 4711" --lift  # lift the hold',
      ],
    },
  }),
  "session.lift": change("session", "lift", {
    title: "Lift a hold",
    summary: "Lifts a hold.",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the hold's name"), reason }),
    answer: AppendResult,
  }),
  "session.erase": change("session", "erase", {
    title: "Erase contents",
    warning: "They are deleted for good, from every session that shares them.",
    local: { progress: "client" },
    summary: "Deletes contents for good, from every session that shares them.",
    scope: "admin",
    params: () => ({
      ranges: z
        .array(RangeOf)
        .max(10_000)
        .describe("only these positions, as pairs of first and last")
        .exactOptional(),
      match: z.string().min(1).describe("only contents that hold this text exactly").exactOptional(),
      copies: z
        .boolean()
        .describe("also what was copied from there: summaries, merges, messages, memory")
        .exactOptional(),
      reason,
      dryRun,
    }),
    answer: () =>
      z.looseObject({
        session: SessionId,
        dryRun: Flag,
        ranges: z.array(z.array(z.number())),
        records: Count,
        bytes: Count,
        already: Count,
        scrubbed: Flag,
      }),
    verb: {
      group: "Lifecycle",
      line: "Erase contents for good; hashes, money and lineage stay, and the chain still verifies.",
      flags: {
        ranges: {
          name: "seq",
          type: "list",
          value: "A..B",
          what: "only these positions",
        },
        match: { value: "TEXT", what: "only contents that contain exactly this text" },
        copies: { what: "also its copies: summaries, merges, messages, memory" },
        reason: { what: "the reason; the log keeps it" },
        dryRun: { what: "show what would be erased, and change nothing" },
      },
      about: [
        "Without --seq and --match, every content of the session's own records goes. Every fork that " +
          "shares a position loses it too, and its log says so. Copies elsewhere are listed, and go with " +
          "--copies; with --match that is everything in the store that contains the text.",
        "Names, keys, labels, names of tools and numbers are not contents and stay. What left the " +
          "store, such as exports, backups and requests to providers, is out of reach. A hold forbids all " +
          "of it.",
      ],
      examples: [
        "skein erase 4x8kz1 --seq 12..15 --dry-run  # what would be erased, and where",
        'skein erase 4x8kz1 --match "jane@example.com" --copies  # a text, wherever it went',
        'skein erase 4x8kz1 --yes --reason "asked for by the user"  # all that was said',
      ],
    },
  }),
};

export const sessionStanding = { ...resources, ...rules };
