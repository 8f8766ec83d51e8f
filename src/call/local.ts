/** Calls that are unavailable over HTTP, each with its reason. */

/** Calls of the library. */
export const localCalls: Readonly<Record<string, string>> = {
  "engine.close": "a client closes its own connections; the engine is the server's",
  "engine.as": "who acts follows from the token",
  "engine.checkToken": "the server checks the token of every request",
  "engine.model": "depends on the configuration and keys of the process",
  "engine.work": "a server works by itself: skein serve, skein up",
  "engine.webhook": "has a separate route, which needs only the webhook's token",
  "session.drive": "a loop of your own needs the engine in its process: every step holds the lease",
  "session.lease": "a lease is kept by a process that is there; see drive",
};

/** Verbs of the command line with another name here. */
export const otherNames: Readonly<Record<string, readonly string[]>> = {
  ps: ["engine.sessions"],
  top: ["engine.sessions", "engine.feed"],
  show: ["engine.session"],
  log: ["session.events"],
  explain: ["session.context"],
  chat: ["session.ask"],
  policy: ["engine.setPolicy", "engine.removePolicy", "engine.policies"],
  hooks: ["engine.setHook", "engine.hooks", "engine.removeHook"],
  hold: ["session.hold", "session.lift"],
  anchor: ["engine.anchor", "engine.acceptAnchor"],
  tickets: ["engine.runTickets", "engine.tickets"],
  agents: ["engine.addAgent", "engine.agents", "engine.agent"],
  memory: ["engine.memory", "engine.remember", "engine.forget", "session.promote"],
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
  tenants: "looks after the database of all tenants; who asks over HTTP belongs to one",
};
