/** Calls of an engine on the workspace: agents, memory, policies, templates, tokens, webhooks. */
import * as z from "zod";
import { scopes } from "../core/workspace/access-token.ts";
import { AgentDefinition } from "../core/workspace/agent.ts";
import { limit } from "../core/limit.ts";
import { Policy } from "../core/govern/policy.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Flag, Text } = answer;
const dryRun = z.boolean().exactOptional();

const workspace = {
  "engine.addAgent": change("engine", "addAgent", {
    title: "Add an agent, or a version of one",
    summary: "Adds a version of an agent. The definition that is its newest version already is no new one.",
    scope: "operate",
    params: AgentDefinition.shape,
    answer: answer.AgentVersion,
  }),
  "engine.agents": read("engine", "agents", {
    title: "List the agents",
    summary: "The newest version of every agent of the workspace, by name.",
    answer: z.array(answer.AgentSummary),
  }),
  "engine.agent": read("engine", "agent", {
    title: "Show an agent's definition",
    summary: "An agent with its definition; the newest version, or an earlier one.",
    args: ["name"],
    params: { name: field.AgentName, version: field.Seq.exactOptional() },
    answer: answer.AgentVersion,
  }),
  "engine.memory": read("engine", "memory", {
    title: "Show the memory",
    summary: "What is remembered, the newest first.",
    params: {
      scope: field.Scope.exactOptional(),
      owner: z.string().max(100).exactOptional(),
      text: z.string().max(1_000).exactOptional(),
    },
    answer: z.array(answer.MemoryEntry),
  }),
  "engine.remember": change("engine", "remember", {
    title: "Remember something",
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
    title: "Forget something",
    warning: "Later sessions do not begin with it any more.",
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
    title: "Set a policy",
    summary:
      "Sets a policy of the workspace, or replaces the one of this name. Where either deletes sessions it " +
      "takes the scope admin.",
    scope: "operate",
    args: ["name", "policy"],
    params: { name: field.Key, policy: Policy, everything: z.boolean().exactOptional() },
    answer: answer.PolicyEntry,
  }),
  "engine.removePolicy": change("engine", "removePolicy", {
    title: "Remove a policy",
    warning: "What it did stays done.",
    summary: "Takes a policy away; one that deletes takes the scope admin. What it did stays done.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
  }),
  "engine.approvals": read("engine", "approvals", {
    title: "List saved approvals",
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
    title: "Revoke a saved approval",
    warning: "The command is asked about again.",
    summary: "Ends a saved approval: the command is asked about again.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
    gives: "nothing",
  }),
  "engine.policies": read("engine", "policies", {
    title: "List the policies",
    summary: "The policies of the workspace, by name.",
    answer: z.array(answer.PolicyEntry),
  }),
  "engine.retain": change("engine", "retain", {
    title: "Retain: do what policies say is due",
    warning: "This may delete sessions: try dry run first.",
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
    title: "Set a template",
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
    title: "Remove a template",
    warning: "The sessions that it opened go on.",
    summary: "Takes a template away. The sessions that it opened go on.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
  }),
  "engine.triggers": read("engine", "triggers", {
    title: "List the templates",
    summary: "The templates of the workspace, by name.",
    answer: z.array(answer.Template),
  }),
  "engine.fire": change("engine", "fire", {
    title: "Fire a template",
    summary: "Fires a template by hand, and gives the session that it opened.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key, text: z.string().exactOptional() },
    answer: answer.Made,
  }),
  "engine.runTickets": change("engine", "runTickets", {
    title: "Run the tickets of a plan",
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
    title: "Show how tickets stand",
    summary: "How the tickets of a plan stand. Changes nothing.",
    scope: "read",
    args: ["plan"],
    params: { plan: field.Plan },
    answer: z.array(answer.TicketRow),
  }),
};

const tokens = {
  "engine.addToken": change("engine", "addToken", {
    title: "Issue a token",
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
    title: "List the tokens",
    summary: "Lists the tokens that hold, the newest first; with all, also those that hold no more.",
    scope: "admin",
    params: { all: z.boolean().exactOptional() },
    answer: z.array(answer.TokenEntry),
  }),
  "engine.revokeToken": change("engine", "revokeToken", {
    title: "Revoke a token",
    warning: "Whoever comes with it is turned away from now on.",
    summary: "Revokes a token, by its id or any ending that only one has.",
    scope: "admin",
    args: ["token"],
    params: { token: z.string().min(4).max(64), reason: field.Reason.exactOptional() },
    answer: answer.TokenEntry,
  }),
};

const hooks = {
  "engine.setHook": change("engine", "setHook", {
    title: "Set a hook",
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
    title: "List the hooks",
    summary: "The hooks of the workspace by name, and how far each was told.",
    scope: "operate",
    answer: z.array(answer.HookEntry),
  }),
  "engine.removeHook": change("engine", "removeHook", {
    title: "Remove a hook",
    warning: "It is told of nothing more.",
    summary: "Takes a hook away.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key, reason: field.Reason.exactOptional() },
    answer: answer.HookEntry,
  }),
};

export const engineWorkspace = { ...workspace, ...tokens, ...hooks };
