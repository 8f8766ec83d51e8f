/** Calls of an engine on the workspace: agents, memory, policies, templates, tickets. */
import * as z from "zod";
import { AgentDefinition } from "../core/workspace/agent.ts";
import { once } from "../core/cache.ts";
import { limit } from "../core/limit.ts";
import { Policy } from "../core/govern/policy.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Flag, Text } = answer;
const { because, dryRun, reason } = field;
const scope = field.Scope.describe("the memory of an agent, of a user, or of the workspace");
const owner = z.string().max(100).describe("the agent or user whose memory it is").exactOptional();
const kind = field.ItemKind.describe("the kind of item");
const key = field.Key.describe("the item's key");
const group = "The whole store";

const PlanOrProject = once(() => z.union([field.Plan(), field.SessionName]));

export const engineWorkspace = {
  "engine.addAgent": change("engine", "addAgent", {
    title: "Add an agent, or a version of one",
    summary: "Adds a version of an agent. Adding the newest definition again changes nothing.",
    scope: "operate",
    params: () => AgentDefinition.shape,
    answer: answer.AgentVersion,
  }),
  "engine.agents": read("engine", "agents", {
    title: "List the agents",
    summary: "The newest version of every agent of the workspace, by name.",
    answer: () => z.array(answer.AgentSummary()),
    verb: {
      name: "agents list",
      group: "Resources and limits",
      line: "Add a version of an agent from a file, list agents, or show one.",
      about: [
        "FILE is Markdown with YAML front matter, whose body is the instructions, or JSON; examples are in " +
          "examples/agents. A definition that equals the newest version adds none. A session keeps the " +
          "version it was opened with. Adding creates the store if it is missing.",
      ],
      examples: [
        "skein agents add reviewer.md  # a first or a further version",
        "skein agents  # the newest version of each",
        "skein agents show reviewer@2  # one version, with its definition",
      ],
    },
  }),
  "engine.agent": read("engine", "agent", {
    title: "Show an agent's definition",
    summary: "An agent with its definition; the newest version, or an earlier one.",
    args: ["name"],
    params: () => ({
      name: field.AgentName.describe("the agent's name"),
      version: field.Seq.describe("an earlier version; by default the newest").exactOptional(),
    }),
    answer: answer.AgentVersion,
  }),
  "engine.memory": read("engine", "memory", {
    title: "Show the memory",
    summary: "Memory entries, the newest first.",
    params: () => ({
      scope: scope.exactOptional(),
      owner,
      text: z.string().max(1_000).describe("only entries with these words").exactOptional(),
    }),
    answer: () => z.array(answer.MemoryEntry()),
    verb: {
      name: "memory list",
      group: "Input and knowledge",
      line: "List, show, promote, remember or forget what later sessions start with.",
      flags: { owner: null, text: { name: "match", value: "TEXT" } },
      about: [
        "promote keeps an item of a session; remember keeps something that comes from no session. With " +
          "--agent NAME the scope is the agent's.",
        "A new session starts with what its objective is about, and with your preferences (the scope user) " +
          "first; open ones get new entries at their next turn. A forgotten entry reaches no new session, " +
          "and open ones that have it learn that it no longer holds. The log still has it; --erase deletes " +
          "it for good, and lists where else it stands.",
        "Items of turns that took in outside content (results of tools, files, messages, imports) wait " +
          "for approval: pending lists them with their origin, approve or reject decides. A rejected one " +
          "is not proposed again.",
      ],
      examples: [
        "skein memory  # everything, the newest first",
        "skein memory list --agent payroll --match rate  # of one agent, with a word",
        "skein memory promote 4x8kz1 fact base-rate --scope workspace  # for all sessions",
        'skein memory remember fact tone "be brief" --scope user  # a preference',
        'skein memory forget base-rate --because "it was last year\'s"  # no later session starts with it',
        "skein memory forget phone --erase --yes  # and out of the store",
        "skein memory pending  # what waits for approval, and why",
        "skein memory review  # duplicates and contradictions",
        "skein memory consolidate  # what a consolidation would do; --apply does it",
        'skein memory approve 42 --because "checked the source"  # later sessions start with it',
        'skein memory reject 43 --because "not our page"  # it is not proposed again',
      ],
    },
  }),
  "engine.remember": change("engine", "remember", {
    title: "Remember something",
    also: [
      {
        scope: "operate",
        what: "remembering for all sessions",
        when: ({ scope, propose }) => scope === "workspace" && propose !== true,
      },
    ],
    summary:
      "Adds a memory entry that comes from no session: a preference, a house rule. For all sessions it " +
      "needs the scope operate, unless it waits for approval.",
    params: () => ({
      scope,
      owner,
      kind,
      key,
      value: field.Value.describe("any JSON"),
      because,
      propose: z.boolean().describe("wait for approval: for what a page or a model says").exactOptional(),
    }),
    answer: answer.MemoryEntry,
    verb: { name: "memory remember", args: ["kind", "key", "value"], flags: { owner: null } },
  }),
  "engine.forget": change("engine", "forget", {
    title: "Forget something",
    warning: "Later sessions no longer start with it.",
    also: [
      { scope: "read", what: "forgetting, which gives the entry," },
      { scope: "admin", what: "erasing", when: ({ erase }) => erase === true },
    ],
    summary:
      "Ends a memory entry for later sessions, and returns it, so it also needs the scope read. With " +
      "erase, which needs the scope admin, it deletes all versions for good.",
    params: () => ({
      scope,
      owner,
      kind,
      key,
      reason,
      erase: z.boolean().describe("also delete all its versions from the store for good").exactOptional(),
    }),
    answer: answer.MemoryEntry,
  }),
  "engine.setPolicy": change("engine", "setPolicy", {
    title: "Set a policy",
    summary:
      "Sets a policy of the workspace, or replaces the one of this name. If either deletes sessions, it " +
      "needs the scope admin.",
    scope: "operate",
    args: ["name", "policy"],
    params: () => ({
      name: field.Key.describe("the policy's name"),
      policy: Policy.describe("the action, its age and the sessions it matches"),
      everything: z.boolean().describe("accept a policy that matches every session").exactOptional(),
    }),
    answer: answer.PolicyEntry,
  }),
  "engine.removePolicy": change("engine", "removePolicy", {
    title: "Remove a policy",
    warning: "Its past effects stay.",
    summary: "Removes a policy; one that deletes needs the scope admin. Its past effects stay.",
    scope: "operate",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the policy's name") }),
    verb: { name: "policy remove", done: "removed {name}" },
  }),
  "engine.policies": read("engine", "policies", {
    title: "List the policies",
    summary: "The policies of the workspace, by name.",
    answer: () => z.array(answer.PolicyEntry()),
    verb: {
      name: "policy list",
      group,
      line: "List, show, set or remove policies: retention of sessions, and how many run at once.",
      about: [
        '"skein retain" does what policies say; setting one does nothing until then.',
        "pack packs records that are older than --after, or lie before the last compaction; nothing is " +
          "lost. expire closes sessions that are open or suspended. archive makes closed ones read-only " +
          "and packs all of them. delete deletes closed and archived ones for good. --status names others.",
        "limit is for workers: of the sessions it matches at most --running run at once, by all workers " +
          "together. skein ps shows the sessions that wait for it.",
        "A policy is set from options, or from a FILE in YAML or JSON with the same words. The one called " +
          '"default" packs after 7 days and is built in; one of its name replaces it.',
      ],
      examples: [
        "skein policy  # all policies",
        "skein policy set stale --do expire --after 90d --agent payroll  # close idle sessions",
        "skein policy set trash --do delete --after 12h --label env=test  # delete test sessions early",
        "skein policy set two --do limit --agent coder --running 2  # two coders at once",
        "skein policy set audit audit.yaml  # from a file",
        "skein policy remove trash  # it no longer applies",
      ],
    },
  }),
  "engine.retain": change("engine", "retain", {
    title: "Retain: do what policies say is due",
    warning: "This may delete sessions: try dry run first.",
    local: { progress: "client", signal: "client" },
    summary: "Applies due policies; with dryRun, reports what it would do.",
    scope: "operate",
    params: () => ({
      dryRun,
      project: field.SessionName.describe("only this project and its sessions").exactOptional(),
      everything: z.boolean().describe("also by policies that match every session").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        dryRun: Flag,
        sessions: Count,
        done: z.array(z.looseObject({ do: Text })),
        kept: z.array(z.looseObject({})),
        stopped: Flag,
        swept: Flag,
      }),
    verb: {
      group,
      line: "Do what policies say is due: pack, expire, archive, delete.",
      flags: { dryRun: { short: "n" }, everything: { name: "yes", short: "y" } },
      about: [
        'Without policies of your own, old records are packed and nothing is lost; "skein policy" sets ' +
          "others. Of several that are due for a session the strongest wins. A hold stops all but " +
          "packing; a running session is skipped; what forks share stays. Sessions opened with " +
          "--expires-after expire without a policy.",
        "It works in small steps beside everything else, and can be stopped and run again at any time.",
      ],
      examples: [
        "skein retain --dry-run  # what would be done, and why",
        "skein retain  # do it",
        "skein retain --yes --json  # for a nightly job",
      ],
    },
  }),
  "engine.trigger": change("engine", "trigger", {
    title: "Set a template",
    summary:
      "Sets a template: whenever it fires, it opens a new session. For a webhook it returns the token.",
    scope: "operate",
    args: ["name", "spec"],
    params: () => ({
      name: field.Key.describe("the template's name; one of the same name is replaced"),
      spec: field.Trigger().describe("the event that fires it"),
      open: z
        .strictObject({
          ...field.openFields(),
          objective: field.Objective.describe("the session's objective"),
        })
        .describe("the session that it opens"),
      missed: field.Missed.describe("how to make up for missed times; by default once").exactOptional(),
    }),
    answer: () => answer.Template().extend({ token: Text.optional() }),
  }),
  "engine.untrigger": change("engine", "untrigger", {
    title: "Remove a template",
    warning: "Its sessions continue.",
    summary: "Removes a template. Its sessions continue.",
    scope: "operate",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the template's name") }),
  }),
  "engine.triggers": read("engine", "triggers", {
    title: "List the templates",
    summary: "The templates of the workspace, by name.",
    answer: () => z.array(answer.Template()),
  }),
  "engine.fire": change("engine", "fire", {
    title: "Fire a template",
    summary: "Fires a template by hand, and returns the session that it opened.",
    scope: "operate",
    args: ["name"],
    params: () => ({
      name: field.Key.describe("the template's name"),
      text: z.string().describe("a text for the session that it opens").exactOptional(),
    }),
    answer: answer.SessionRef,
  }),
  "engine.runTickets": change("engine", "runTickets", {
    title: "Run the tickets of a plan",
    local: { signal: "client", tell: "client", note: "client" },
    summary:
      "Runs a plan, or that of a project: one session for each ticket, each started when its " +
      "dependencies are done.",
    scope: "operate",
    args: ["plan"],
    params: () => ({
      plan: PlanOrProject().describe("the plan, from parsePlan, or the id of a project"),
      agent: field.AgentName.describe("the agent of tickets that name none").exactOptional(),
      model: field.ModelName.describe("the model of all sessions").exactOptional(),
      parallel: z
        .int()
        .min(1)
        .max(limit.concurrencyMax)
        .describe("at most this many tickets at once")
        .exactOptional(),
      directory: field.Path.describe("the directory to work in; by default the current one").exactOptional(),
      bind: z
        .array(field.Binding())
        .max(limit.bindingsMax)
        .describe("resources that every session may use")
        .exactOptional(),
      budget: field.Budget().describe("the budget of each ticket that has none").exactOptional(),
      worktrees: z.boolean().describe("a git worktree and branch for each ticket").exactOptional(),
      base: z.string().max(200).describe("the commit or branch that worktrees begin at").exactOptional(),
      commit: z.boolean().describe("commit the work of each ticket in its worktree").exactOptional(),
      retry: z.boolean().describe("begin failed tickets again").exactOptional(),
      dryRun,
    }),
    answer: () => z.array(answer.TicketRow()),
  }),
  "engine.tickets": change("engine", "tickets", {
    title: "Show how tickets stand",
    summary: "The status of a plan's tickets. Changes nothing.",
    scope: "read",
    args: ["plan"],
    params: () => ({
      plan: PlanOrProject().describe("the plan, from parsePlan, or the id of a project"),
    }),
    answer: () => z.array(answer.TicketRow()),
  }),
};
