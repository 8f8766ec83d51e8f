/** Calls that set the standing of a session: its name, resources, limits, triggers and holds. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, SessionId, Text, Written } = answer;
const reason = field.Reason.describe("why; it is kept in the log").exactOptional();
const dryRun = z.boolean().exactOptional();
const RangeOf = z.tuple([field.Seq, field.Seq]);

export const sessionStanding = {
  "session.rename": change("session", "rename", {
    title: "Rename",
    summary: "Gives it a name.",
    args: ["name"],
    params: { name: field.Name },
    answer: Written,
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
    params: { set: field.Labels, remove: z.array(z.string()).max(limit.labelsMax).exactOptional() },
    answer: Written,
  }),
  "session.prioritize": change("session", "prioritize", {
    title: "Prioritize",
    summary: "Sets how urgent it is: 0 is the most urgent, 9 the least.",
    args: ["priority"],
    params: { priority: z.int().min(0).max(limit.priorityMax) },
    answer: Written,
    verb: {
      group: "Sessions",
      line: "Make a session more or less urgent, from 0 (most) to 9.",
      done: "priority {priority}",
      examples: ["skein prioritize 4x8kz1 0  # before all others"],
    },
  }),
  "session.bind": change("session", "bind", {
    title: "Bind a resource",
    summary: "Says that it may use a resource; any but a tool takes the scope operate.",
    params: field.bindingFields,
    answer: Written,
  }),
  "session.unbind": change("session", "unbind", {
    title: "Unbind a resource",
    warning: "It may not be used any more.",
    summary: "Takes a binding away.",
    args: ["name"],
    params: { name: field.Key },
    answer: Written,
    verb: {
      group: "What it may use",
      line: "Take a resource away from a session.",
      done: "unbound",
      examples: ['skein unbind 4x8kz1 rates.json  # by the name that "skein state" shows'],
    },
  }),
  "session.grant": change("session", "grant", {
    title: "Grant: say what becomes of calls of a tool",
    words: "permission allow deny",
    summary: "Says what becomes of calls of a tool; a rule but ask and deny takes the scope operate.",
    params: field.permissionFields,
    answer: Written,
  }),
  "session.budget": change("session", "budget", {
    title: "Set the budget",
    summary: "Says how much it may use. What is not named is unlimited.",
    args: ["limits"],
    params: { limits: field.Budget, reason },
    answer: Written,
  }),
  "session.trigger": change("session", "trigger", {
    title: "Set a trigger",
    summary: "Sets something that wakes it. Of a webhook it gives the token, which is shown this once.",
    scope: "operate",
    args: ["name", "spec"],
    params: { name: field.Key, spec: field.Trigger, missed: field.Missed.exactOptional() },
    answer: Written.extend({ token: Text.optional() }),
  }),
  "session.untrigger": change("session", "untrigger", {
    title: "Remove a trigger",
    warning: "It does not wake the session any more.",
    summary: "Takes a trigger away.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
    answer: Written,
  }),
  "session.fire": change("session", "fire", {
    title: "Fire a trigger",
    summary: "Fires a trigger by hand: the session is told, and woken if it sleeps.",
    args: ["name"],
    params: { name: field.Key, text: z.string().exactOptional() },
    answer: Written,
  }),
  "session.hold": change("session", "hold", {
    title: "Hold: keep it from being erased",
    summary: "Keeps all of it from being erased or deleted, until the hold of this name is lifted.",
    args: ["name"],
    params: { name: field.Key, reason },
    answer: Written,
  }),
  "session.lift": change("session", "lift", {
    title: "Lift a hold",
    summary: "Lifts a hold.",
    args: ["name"],
    params: { name: field.Key, reason },
    answer: Written,
  }),
  "session.erase": change("session", "erase", {
    title: "Erase contents",
    warning: "They are gone for good, from every session that shares them.",
    local: { progress: "client" },
    summary: "Takes contents away for good, from every session that shares them.",
    scope: "admin",
    params: {
      ranges: z.array(RangeOf).max(10_000).exactOptional(),
      match: z.string().min(1).exactOptional(),
      copies: z.boolean().exactOptional(),
      reason,
      dryRun,
    },
    answer: z.looseObject({
      session: SessionId,
      dryRun: Flag,
      ranges: z.array(z.array(z.number())),
      records: Count,
      bytes: Count,
      already: Count,
      scrubbed: Flag,
    }),
  }),
};
