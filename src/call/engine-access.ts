/** Calls of an engine on access to the workspace: tokens, webhooks, saved approvals. */
import * as z from "zod";
import { scopes } from "../core/workspace/access-token.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Text } = answer;
const { reason } = field;
const group = "The whole store";

const approvals = {
  "engine.approvals": read("engine", "approvals", {
    title: "List saved approvals",
    summary: "Commands that are always allowed, in every session of the workspace.",
    answer: () =>
      z.array(
        z.looseObject({
          name: Text,
          tool: Text,
          command: z.looseObject({ text: Text, directory: Text, binding: z.unknown() }),
          at: Count,
          actor: Text,
        }),
      ),
    verb: {
      name: "approvals list",
      group,
      line: "List or revoke commands that are always allowed.",
      about: [
        "An approval is saved by answering a call with always. It allows the same text in the same " +
          "directory by the same binding, in every session of the workspace, where a rule asks; a deny " +
          "still holds.",
      ],
      examples: [
        "skein approvals  # all that hold",
        "skein approvals revoke approval-12  # ask about it again",
      ],
    },
  }),
  "engine.revokeApproval": change("engine", "revokeApproval", {
    title: "Revoke a saved approval",
    warning: "The command asks again.",
    summary: "Ends a saved approval: the command asks again.",
    scope: "operate",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the approval's name") }),
    gives: "nothing",
    verb: { name: "approvals revoke" },
  }),
};

const tokens = {
  "engine.addToken": change("engine", "addToken", {
    title: "Issue a token",
    local: { token: "engine" },
    summary: "Issues a token. The token itself is shown only once.",
    scope: "admin",
    params: () => ({
      scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).describe("the scopes that it permits"),
      name: field.Key.describe("a name for lists").exactOptional(),
      principal: z
        .string()
        .max(64)
        .describe("the principal that it acts as, prn_…; by default a new one")
        .exactOptional(),
      expiresAt: field.Moment.describe("the moment it expires; by default never").exactOptional(),
      requestsPerSecond: z
        .int()
        .positive()
        .max(limit.tokenRequestsPerSecondMax)
        .describe(`requests a second, twice as many at once; by default ${limit.requestsPerSecond}`)
        .exactOptional(),
      session: z
        .string()
        .max(64)
        .describe("with the scope settle: the only session whose external calls it settles")
        .exactOptional(),
    }),
    answer: () => answer.TokenEntry().extend({ token: Text }),
    verb: {
      name: "tokens add",
      args: ["name?"],
      flags: {
        principal: { value: "prn_…" },
        session: { value: "ses_…" },
        expiresAt: {
          name: "expires",
          type: "coming",
          what: "the expiry: a time, or a duration such as 90d; by default never",
        },
      },
    },
  }),
  "engine.tokens": read("engine", "tokens", {
    title: "List the tokens",
    summary: "Lists the valid tokens, the newest first; with all, also expired and revoked ones.",
    scope: "admin",
    params: () => ({ all: z.boolean().describe("also those that are expired or revoked").exactOptional() }),
    answer: () => z.array(answer.TokenEntry()),
    verb: {
      name: "tokens list",
      group,
      line: "Issue, list or revoke tokens, which give programs access over the network.",
      flags: { all: { short: "a" } },
      about: [
        "A token is printed once: the store keeps only its hash. A unique id suffix is accepted to revoke " +
          "it; servers know within a second.",
        "read permits reading; write changing sessions; settle sending results of external tool calls; " +
          "operate setting agents, triggers and policies; admin everything, tokens and deletion included. " +
          "--scope may be given several times.",
        "With --session a token is valid for one session and has only the scope settle: for the program " +
          "that executes its external calls.",
        "The log names the principal of a token as the actor. By default that is a new one; with " +
          "--principal a second token continues as the same one.",
      ],
      examples: [
        "skein tokens  # those that are valid",
        "skein tokens add ci --scope read --scope write --expires 90d  # one for three months",
        "skein tokens add --scope read | gh secret set SKEIN  # only the token is printed",
        'skein tokens revoke 4x8kz1qn --reason "lost"  # it is no longer valid',
      ],
    },
  }),
  "engine.revokeToken": change("engine", "revokeToken", {
    title: "Revoke a token",
    warning: "Requests with it are refused from now on.",
    summary: "Revokes a token, by its id or a unique suffix of it.",
    scope: "admin",
    args: ["token"],
    params: () => ({
      token: z.string().min(4).max(64).describe("the token's id, or a unique suffix of it"),
      reason,
    }),
    answer: answer.TokenEntry,
    verb: { name: "tokens revoke", flags: { token: "ID" } },
  }),
};

const hooks = {
  "engine.setHook": change("engine", "setHook", {
    title: "Set a webhook",
    summary: "Sets a webhook, a URL that gets events from now on, or replaces the one of this name.",
    scope: "operate",
    args: ["name", "url"],
    params: () => ({
      name: field.Key.describe("the webhook's name"),
      url: z.string().max(limit.hookUrlCharsMax).describe("the URL that events are posted to"),
      events: z
        .array(z.string().max(64))
        .min(1)
        .max(50)
        .describe("types of events; turn.* matches all that begin so"),
      secret: z.string().max(128).describe("the name of the variable with the signing secret"),
      session: z.string().max(64).describe("only events of this session").exactOptional(),
      agent: field.AgentName.describe("only events of sessions of this agent").exactOptional(),
      labels: field.Labels.refine(
        (labels) => Object.keys(labels).length <= limit.labelsMax,
        `expected at most ${limit.labelsMax} labels`,
      )
        .describe("only events of sessions with this label")
        .exactOptional(),
    }),
    answer: answer.HookEntry,
    verb: {
      name: "hooks add",
      flags: {
        events: { name: "events", value: "TYPE,…" },
        secret: { value: "NAME" },
        session: { value: "ID" },
        agent: { value: "NAME" },
      },
    },
  }),
  "engine.hooks": read("engine", "hooks", {
    title: "List the webhooks",
    summary: "The webhooks of the workspace by name, with their delivery counts.",
    scope: "operate",
    answer: () => z.array(answer.HookEntry()),
    verb: {
      name: "hooks list",
      group,
      line: "Add, list, remove or test webhooks: URLs that events are posted to.",
      about: [
        "A server (skein serve) posts what happens from the moment a webhook was added, in order and at " +
          "least once; a failed delivery is retried for a day. Contents are never sent.",
        "Calls are signed with the value of the variable --secret where the server runs; the store keeps " +
          "only its name. test makes one call from here, with the variable as it is here.",
        "The list says what waits for longer than two minutes, of the next 10,000 events after the last " +
          "delivery: then no server delivers, or the receiver refuses; the server's log says why.",
      ],
      examples: [
        "skein hooks  # all webhooks",
        "skein hooks add ops https://example.com/skein --events session.closed,turn.* --secret OPS_SECRET" +
          "  # for both types",
        "skein hooks test ops  # one call, now",
        "skein hooks remove ops  # no more deliveries",
      ],
    },
  }),
  "engine.removeHook": change("engine", "removeHook", {
    title: "Remove a webhook",
    warning: "It gets no more events.",
    summary: "Removes a webhook.",
    scope: "operate",
    args: ["name"],
    params: () => ({ name: field.Key.describe("the webhook's name"), reason }),
    answer: answer.HookEntry,
    verb: { name: "hooks remove" },
  }),
};

export const engineAccess = { ...approvals, ...tokens, ...hooks };
