/** The calls of an engine, as operations: sessions as a whole, and what is asked of all of them. */
import * as z from "zod";
import { scopes } from "../core/workspace/access-token.ts";
import { AgentDefinition } from "../core/workspace/agent.ts";
import { statuses } from "../core/session/lifecycle.ts";
import { limit } from "../core/limit.ts";
import { Policy } from "../core/govern/policy.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Flag, MaybeText, SessionId, Text } = answer;
const dryRun = z.boolean().exactOptional();
const limitTo = (max: number) => z.int().min(1).max(max).exactOptional();

const sessions = {
  "engine.open": change("engine", "open", {
    summary:
      "Begins a session, with its objective and what it starts with. What hands out the machine (bind but " +
      "for tools, files, rules that allow, triggers that watch files) takes the scope operate.",
    path: "/v1/sessions",
    params: field.openFields,
    answer: answer.MadeFrom,
  }),
  "engine.sessions": read("engine", "sessions", {
    summary: "Lists sessions and how they stand, the most recently active first, in pages.",
    params: {
      agent: field.AgentName.exactOptional(),
      status: z.array(z.enum(statuses)).min(1).exactOptional(),
      labels: z.record(z.string(), z.string()).exactOptional(),
      text: z.string().max(limit.nameCharsMax).exactOptional(),
      activeSince: z.int().exactOptional(),
      activeBefore: z.int().exactOptional(),
      limit: limitTo(limit.listMax),
      cursor: z.string().max(1_000).exactOptional(),
    },
    answer: z.looseObject({ rows: z.array(answer.SessionRow), cursor: MaybeText }),
  }),
  "engine.session": read("engine", "session", {
    summary: "Shows a session: how it stands, what it knows, where it came from, what happened last.",
    path: "/v1/sessions/{id}",
    answer: answer.StateView.extend({
      id: SessionId,
      copy: Flag,
      movedTo: MaybeText,
      head: z.looseObject({ seq: Count, hash: answer.Sha256 }),
      forks: z.array(z.looseObject({ session: SessionId, seq: Count })),
      events: z.array(answer.Event),
    }),
  }),
  "engine.delete": change("engine", "delete", {
    summary: "Deletes a session for good. Forks keep what they share with it.",
    method: "DELETE",
    path: "/v1/sessions/{id}",
    scope: "admin",
    params: { reason: field.Reason.exactOptional() },
  }),
  "engine.lineage": read("engine", "lineage", {
    summary: "The family of a session: forks, children, successors, and what was merged.",
    args: ["session"],
    params: { session: field.SessionName },
    answer: answer.Lineage,
  }),
  "engine.export": change("engine", "export", {
    also: [{ scope: "admin", what: "moving a session away", when: ({ move }) => move === true }],
    local: { sign: "engine" },
    summary: "Writes a session to a bundle. With move, which takes the scope admin, it leaves this store.",
    path: "/v1/sessions/{id}/export",
    scope: "read",
    params: {
      withForks: z.boolean().exactOptional(),
      move: z.boolean().exactOptional(),
      to: z.string().max(64).exactOptional(),
    },
    gives: "bytes",
  }),
  "engine.import": change("engine", "import", {
    summary:
      "Imports a bundle. Nothing of it is visible before all of it is verified. A session that moves here " +
      "without the signature of a trusted key arrives suspended; review lists what it would act with.",
    scope: "operate",
    takes: "bytes",
    params: {
      signedBy: z.array(z.string().max(100)).max(100).exactOptional(),
      trusted: z.array(z.string().max(100)).max(100).exactOptional(),
    },
    answer: z.looseObject({
      session: SessionId,
      as: z.enum(["own", "copy"]),
      sessions: z.array(SessionId),
      records: Count,
      blobs: Count,
      already: Flag,
      signedBy: MaybeText,
      trusted: Flag,
      suspended: Flag,
      review: z.array(
        z.looseObject({
          session: SessionId,
          bindings: z.array(z.looseObject({ name: z.string(), kind: z.string(), mode: z.string() })),
          rules: z.array(z.looseObject({ name: z.string(), tool: z.string(), rule: z.string() })),
          triggers: z.array(z.looseObject({ name: z.string(), kind: z.string() })),
          input: z.array(z.looseObject({ seq: Count, type: z.string(), text: z.string() })),
          waiting: Count,
          calls: z.array(z.looseObject({ tool: z.string(), phase: z.string() })),
        }),
      ),
      warning: MaybeText,
    }),
  }),
  "engine.migrate": change("engine", "migrate", {
    local: { progress: "client", signal: "client" },
    summary:
      "Moves every session to another store, with what the workspace knows. It takes a server that opens " +
      "other stores.",
    scope: "admin",
    params: { to: field.Path, dryRun, waitMs: field.Millis.exactOptional() },
    answer: z.looseObject({ dryRun: Flag, moved: Count, copied: Count, records: Count }),
  }),
  "engine.send": change("engine", "send", {
    keyed: true,
    summary:
      "Puts what a person sends into a session's inbox, held to the contract that it has for the topic.",
    args: ["to", "message"],
    params: { to: field.SessionName, message: field.Value, topic: field.Key.exactOptional() },
    answer: answer.Written,
  }),
  "engine.deliver": change("engine", "deliver", {
    local: { progress: "client" },
    summary: "Goes on with messages to other stores, and gives up requests whose time is over.",
    scope: "operate",
    answer: z.looseObject({ sessions: Count, delivered: Count, refused: Count, overdue: Count }),
  }),
  "engine.putBlob": change("engine", "putBlob", {
    summary:
      "Keeps the bytes of an image or file, and gives the hash by which a block of an input names them.",
    takes: "bytes",
    answer: z.looseObject({ hash: answer.Sha256 }),
  }),
  "engine.blob": read("engine", "blob", {
    summary: "The bytes that were kept under a hash: an image, a file, or a content that was too large.",
    args: ["hash"],
    params: { hash: answer.Sha256 },
    gives: "bytes",
  }),
};

const workspace = {
  "engine.addAgent": change("engine", "addAgent", {
    summary: "Adds a version of an agent. The definition that is its newest version already is no new one.",
    scope: "operate",
    params: AgentDefinition.shape,
    answer: answer.AgentVersion,
  }),
  "engine.agents": read("engine", "agents", {
    summary: "The newest version of every agent of the workspace, by name.",
    answer: z.array(answer.AgentSummary),
  }),
  "engine.agent": read("engine", "agent", {
    summary: "An agent with its definition; the newest version, or an earlier one.",
    args: ["name"],
    params: { name: field.AgentName, version: field.Seq.exactOptional() },
    answer: answer.AgentVersion,
  }),
  "engine.memory": read("engine", "memory", {
    summary: "What is remembered, the newest first.",
    params: {
      scope: field.Scope.exactOptional(),
      owner: z.string().max(100).exactOptional(),
      text: z.string().max(1_000).exactOptional(),
    },
    answer: z.array(answer.MemoryEntry),
  }),
  "engine.remember": change("engine", "remember", {
    summary: "Puts into memory what comes from no session: a preference, a rule of the house.",
    params: {
      scope: field.Scope,
      owner: z.string().max(100).exactOptional(),
      kind: field.ItemKind,
      key: field.Key,
      value: field.Value,
      because: field.Because.exactOptional(),
    },
    answer: answer.MemoryEntry,
  }),
  "engine.forget": change("engine", "forget", {
    also: [
      { scope: "read", what: "forgetting, which gives the entry," },
      { scope: "admin", what: "erasing", when: ({ erase }) => erase === true },
    ],
    summary:
      "Ends an entry of memory for later sessions, and gives it, so it takes the scope read besides; with " +
      "erase, which takes the scope admin, for good.",
    params: {
      scope: field.Scope,
      owner: z.string().max(100).exactOptional(),
      kind: field.ItemKind,
      key: field.Key,
      reason: field.Reason.exactOptional(),
      erase: z.boolean().exactOptional(),
    },
    answer: answer.MemoryEntry,
  }),
  "engine.setPolicy": change("engine", "setPolicy", {
    summary:
      "Sets a policy of the workspace, or replaces the one of this name. Where either deletes sessions it " +
      "takes the scope admin.",
    scope: "operate",
    args: ["name", "policy"],
    params: { name: field.Key, policy: Policy, everything: z.boolean().exactOptional() },
    answer: answer.PolicyEntry,
  }),
  "engine.removePolicy": change("engine", "removePolicy", {
    summary: "Takes a policy away; one that deletes takes the scope admin. What it did stays done.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
  }),
  "engine.approvals": read("engine", "approvals", {
    summary: "Commands that are always allowed, in every session of the workspace.",
    answer: z.array(
      z.looseObject({
        name: Text,
        tool: Text,
        command: z.looseObject({ text: Text, directory: Text, binding: z.unknown() }),
        at: Count,
        actor: Text,
      }),
    ),
  }),
  "engine.revokeApproval": change("engine", "revokeApproval", {
    summary: "Ends a saved approval: the command is asked about again.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
    gives: "nothing",
  }),
  "engine.policies": read("engine", "policies", {
    summary: "The policies of the workspace, by name.",
    answer: z.array(answer.PolicyEntry),
  }),
  "engine.retain": change("engine", "retain", {
    local: { progress: "client", signal: "client" },
    summary: "Does what policies say is due; with dryRun, says what that would be.",
    scope: "operate",
    params: { dryRun, everything: z.boolean().exactOptional() },
    answer: z.looseObject({
      dryRun: Flag,
      sessions: Count,
      done: z.array(z.looseObject({ do: Text })),
      kept: z.array(z.looseObject({})),
      stopped: Flag,
      swept: Flag,
    }),
  }),
  "engine.trigger": change("engine", "trigger", {
    summary: "Sets a template: whenever it fires, a new session is opened. Of a webhook it gives the token.",
    scope: "operate",
    args: ["name", "spec"],
    params: {
      name: field.Key,
      spec: field.Trigger,
      open: z.strictObject({ ...field.openFields, objective: field.Objective }),
      missed: field.Missed.exactOptional(),
    },
    answer: answer.Template.extend({ token: Text.optional() }),
  }),
  "engine.untrigger": change("engine", "untrigger", {
    summary: "Takes a template away. The sessions that it opened go on.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
  }),
  "engine.triggers": read("engine", "triggers", {
    summary: "The templates of the workspace, by name.",
    answer: z.array(answer.Template),
  }),
  "engine.fire": change("engine", "fire", {
    summary: "Fires a template by hand, and gives the session that it opened.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key, text: z.string().exactOptional() },
    answer: answer.Made,
  }),
  "engine.runTickets": change("engine", "runTickets", {
    local: { signal: "client", tell: "client", note: "client" },
    summary: "Runs a plan: one session for each ticket, each begun when those before it are done.",
    scope: "operate",
    args: ["plan"],
    params: {
      plan: field.Plan,
      agent: field.AgentName.exactOptional(),
      model: field.ModelName.exactOptional(),
      parallel: z.int().min(1).max(limit.concurrencyMax).exactOptional(),
      directory: field.Path.exactOptional(),
      bind: z.array(field.Binding).max(limit.bindingsMax).exactOptional(),
      budget: field.Budget.exactOptional(),
      worktrees: z.boolean().exactOptional(),
      base: z.string().max(200).exactOptional(),
      commit: z.boolean().exactOptional(),
      retry: z.boolean().exactOptional(),
      dryRun,
    },
    answer: z.array(answer.TicketRow),
  }),
  "engine.tickets": change("engine", "tickets", {
    summary: "How the tickets of a plan stand. Changes nothing.",
    scope: "read",
    args: ["plan"],
    params: { plan: field.Plan },
    answer: z.array(answer.TicketRow),
  }),
};

const all = {
  "engine.feed": read("engine", "feed", {
    summary:
      "Events of all logs, at least once, in order within each; as a stream on and on, also of a family.",
    params: {
      after: z.string().max(1_000).exactOptional(),
      limit: limitTo(limit.pageRecordsMax),
      family: field.SessionName.exactOptional(),
      follow: z.boolean().exactOptional(),
    },
    answer: z.looseObject({
      events: z.array(answer.Event),
      position: Text,
      /** Present after a rollback of the store: the events start there; null is the beginning. */
      rolledBackTo: Text.nullable().exactOptional(),
    }),
    streams: true,
  }),
  "engine.search": read("engine", "search", {
    local: { progress: "client" },
    summary: "Full-text search over everything that was said.",
    args: ["text"],
    params: {
      text: z.string(),
      session: field.SessionName.exactOptional(),
      limit: limitTo(limit.searchMax),
    },
    answer: z.array(answer.Hit),
  }),
  "engine.cost": read("engine", "cost", {
    summary: "What model calls have cost, by session, agent, model, day, user or label:KEY.",
    params: {
      by: Text.exactOptional(),
      session: field.SessionName.exactOptional(),
      family: z.boolean().exactOptional(),
      since: z.int().exactOptional(),
      until: z.int().exactOptional(),
      daily: z.boolean().exactOptional(),
    },
    answer: z.array(answer.CostRow),
  }),
  "engine.query": change("engine", "query", {
    local: { progress: "client", signal: "client" },
    summary: "One read-only SELECT over the documented views. Changes nothing.",
    scope: "read",
    args: ["sql"],
    params: { sql: z.string().min(1).max(limit.queryCharsMax) },
    answer: z.looseObject({ columns: z.array(Text), rows: z.array(z.array(z.unknown())) }),
  }),
  "engine.verify": read("engine", "verify", {
    local: { progress: "client" },
    summary:
      "Verifies every log of the store, against the listed heads too, and the store itself; with anchor, " +
      "also that the workspace's log holds the anchored record.",
    params: {
      anchor: z.strictObject({ seq: field.Seq, hash: answer.Sha256 }).exactOptional(),
    },
    answer: answer.VerifyReport,
  }),
  "engine.anchor": change("engine", "anchor", {
    local: { allowPrivate: "engine" },
    summary:
      "Lists the heads of all logs and gives the root, to be kept outside the store; with url, posts it.",
    scope: "operate",
    params: { url: z.string().max(limit.hookUrlCharsMax).exactOptional() },
    answer: answer.Anchor,
  }),
  "engine.acceptAnchor": change("engine", "acceptAnchor", {
    summary: "Accepts the logs as they are, after a restore that was meant: verify reports them no more.",
    scope: "admin",
    params: {
      reason: field.Reason.min(1),
      anchor: z.strictObject({ seq: field.Seq, hash: answer.Sha256 }).exactOptional(),
    },
    answer: z.looseObject({ logs: z.array(Text), anchor: answer.Anchor }),
  }),
  "engine.scan": read("engine", "scan", {
    local: { progress: "client" },
    summary: "Finds secrets that got in earlier, in one session or all logs. Never gives a value.",
    params: { session: field.SessionName.exactOptional() },
    answer: z.looseObject({
      sessions: Count,
      records: Count,
      findings: z.array(z.looseObject({ seq: Count, kind: Text })),
      more: Count,
    }),
  }),
  "engine.rebuild": change("engine", "rebuild", {
    local: { progress: "client" },
    summary: "Forgets everything derived and makes it again from the logs.",
    scope: "operate",
    answer: z.looseObject({ sessions: Count, records: Count, snapshots: Count }),
  }),
  "engine.workers": read("engine", "workers", {
    summary: "Workers of this store that were heard of lately, in this process or in others.",
    answer: z.array(z.looseObject({ name: Text, sinceMs: z.number(), untilMs: z.number() })),
  }),
  "engine.stats": read("engine", "stats", {
    summary: "Counts what there is.",
    answer: z.looseObject({ driver: Text, version: Text, sessions: Count, records: Count }),
  }),
};

const tokens = {
  "engine.addToken": change("engine", "addToken", {
    summary: "Issues a token. The token itself is shown this once.",
    scope: "admin",
    params: {
      scopes: z.array(z.enum(scopes)).min(1).max(scopes.length),
      name: field.Key.exactOptional(),
      principal: z.string().max(64).exactOptional(),
      expiresAt: field.Millis.exactOptional(),
    },
    answer: answer.TokenEntry.extend({ token: Text }),
  }),
  "engine.tokens": read("engine", "tokens", {
    summary: "Lists the tokens that hold, the newest first; with all, also those that hold no more.",
    scope: "admin",
    params: { all: z.boolean().exactOptional() },
    answer: z.array(answer.TokenEntry),
  }),
  "engine.revokeToken": change("engine", "revokeToken", {
    summary: "Revokes a token, by its id or any ending that only one has.",
    scope: "admin",
    args: ["token"],
    params: { token: z.string().min(4).max(64), reason: field.Reason.exactOptional() },
    answer: answer.TokenEntry,
  }),
};

const hooks = {
  "engine.setHook": change("engine", "setHook", {
    summary: "Sets a hook, an address that is told of events from now on, or replaces the one of this name.",
    scope: "operate",
    args: ["name", "url"],
    params: {
      name: field.Key,
      url: z.string().max(limit.hookUrlCharsMax),
      events: z.array(z.string().max(64)).min(1).max(50),
      secret: z.string().max(128),
      session: z.string().max(64).exactOptional(),
      agent: z.string().max(64).exactOptional(),
      labels: z.record(z.string(), z.string()).exactOptional(),
    },
    answer: answer.HookEntry,
  }),
  "engine.hooks": read("engine", "hooks", {
    summary: "The hooks of the workspace by name, and how far each was told.",
    scope: "operate",
    answer: z.array(answer.HookEntry),
  }),
  "engine.removeHook": change("engine", "removeHook", {
    summary: "Takes a hook away.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key, reason: field.Reason.exactOptional() },
    answer: answer.HookEntry,
  }),
};

export const engineOperations = { ...sessions, ...workspace, ...all, ...tokens, ...hooks };
