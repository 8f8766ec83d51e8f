/** Calls and verbs that have no route over HTTP, each with its reason. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const leaseMs = field.Span.min(1).describe("how long the lease holds without a renewal").exactOptional();
const holder = z.string().min(1).describe("the holder's name, shown to others");

/** The descriptions of those that take options: the library validates by them. */
export const localOperations = {
  "engine.work": change("engine", "work", {
    title: "Work",
    summary: "Starts a worker in this process.",
    params: () => ({
      concurrency: z
        .int()
        .min(1)
        .max(limit.concurrencyMax)
        .describe("sessions that run at once; by default 4")
        .exactOptional(),
      limits: z.array(z.looseObject({})).describe("limits by agent, model or label").exactOptional(),
      name: z.string().describe("the worker's name; by default the engine's holder").exactOptional(),
      leaseMs,
    }),
    local: { only: "engine", onEvent: "engine" },
  }),
  "session.drive": change("session", "drive", {
    title: "Drive",
    summary: "Takes the lease, for a loop of your own.",
    params: () => ({ holder: holder.exactOptional(), leaseMs }),
  }),
  "session.lease": change("session", "lease", {
    title: "Lease",
    summary: "Takes the right to run the session.",
    params: () => ({ holder, leaseMs }),
  }),
};

/** Calls of the library. */
export const localCalls: Readonly<Record<string, string>> = {
  "engine.importTranscript": "reads the files of other tools where they are",
  "engine.close": "a client closes its own connections; the engine is the server's",
  "engine.as": "who acts follows from the token",
  "engine.checkToken": "the server checks the token of every request",
  "engine.model": "depends on the configuration and keys of the process",
  "engine.work": "a server runs its own worker: skein serve, skein up",
  "engine.webhook": "has a separate route, which needs only the webhook's token",
  "session.drive": "a loop of your own needs the engine in its process: every step holds the lease",
  "session.lease": "a lease is kept by a process that is there; see drive",
};

/** Command lines of calls whose verb is not derived from them: a verb, or the action of one. */
export const commands: Readonly<Record<string, readonly string[]>> = {
  "engine.open": ["open"],
  "engine.sessions": ["ps", "top"],
  "engine.session": ["show"],
  "session.setChecks": ["accept ID"],
  "engine.lineage": ["lineage"],
  "engine.export": ["export"],
  "engine.exportProject": ["export PROJECT"],
  "engine.import": ["import"],
  "engine.migrate": ["migrate --all --to STORE"],
  "engine.send": ["send - TO [TEXT...]"],
  "engine.addAgent": ["agents add FILE"],
  "engine.agent": ["agents show NAME[@VERSION]"],
  "engine.forget": ["memory forget [KIND] [KEY]"],
  "engine.setPolicy": ["policy set NAME [FILE]"],
  "engine.trigger": ["trigger add NAME --open OBJECTIVE"],
  "engine.untrigger": ["trigger remove NAME"],
  "engine.triggers": ["trigger list"],
  "engine.fire": ["trigger fire NAME"],
  "engine.runTickets": ["tickets run PLAN"],
  "engine.tickets": ["tickets status PLAN"],
  "engine.feed": ["top"],
  "engine.verify": ["verify"],
  "engine.anchor": ["anchor"],
  "engine.acceptAnchor": ["anchor accept --reason TEXT"],
  "engine.findTranscripts": ["import TOOL --dry-run"],
  "engine.importTranscripts": ["import TOOL"],
  "session.items": ["state"],
  "session.events": ["log"],
  "session.records": ["export ID --format jsonl"],
  "session.verify": ["verify"],
  "session.diff": ["diff"],
  "session.exportTranscript": ["export ID --format TOOL"],
  "session.context": ["explain"],
  "session.contracts": ["contract"],
  "session.triggers": ["trigger list ID"],
  "session.append": ["append"],
  "session.ask": ["ask", "chat"],
  "session.run": ["run"],
  "session.watch": ["run"],
  "session.send": ["send"],
  "session.migrate": ["migrate ID --to STORE", "migrate ID --model PROVIDER/MODEL"],
  "session.trigger": ["trigger add ID NAME"],
  "session.untrigger": ["trigger remove ID NAME"],
  "session.fire": ["trigger fire ID NAME"],
  "session.lift": ["hold ID --lift"],
};

/** Verbs of the command line without an operation. */
export const localVerbs: Readonly<Record<string, string>> = {
  up: "starts a worker in this process",
  serve: "starts the server itself",
  models: "says what the configuration and the keys of this machine allow",
  keys: "makes and reads keys in files of this machine",
  doctor: "looks at this machine",
  tour: "shows what Skein does, in a temporary store",
  help: "says how a verb is used",
  convert: "reads a file of another tool on this machine, and opens no store",
  acp: "speaks with an editor over standard input and output",
  mcp: "speaks with an agent over standard input and output; the server has /mcp",
  proxy: "runs a program of this machine; the server has /proxy",
  tenants: "looks after the database of all tenants; who asks over HTTP belongs to one",
};
