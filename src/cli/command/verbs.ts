/** Verbs with a separate file, in the order of the overview, each loaded on use; then the plain ones. */
import type { Verb } from "./verb.ts";

type Loaders = Readonly<Record<string, () => Promise<Verb>>>;

const groups: readonly { readonly title: string; readonly verbs: Loaders }[] = [
  {
    title: "Sessions",
    verbs: {
      open: async () => (await import("../verb/open.ts")).open,
      ps: async () => (await import("../verb/ps.ts")).ps,
      top: async () => (await import("../verb/top.ts")).top,
      show: async () => (await import("../verb/show.ts")).show,
    },
  },
  // Plain verbs alone.
  { title: "Projects", verbs: {} },
  {
    title: "Turns",
    verbs: {
      chat: async () => (await import("../verb/chat.ts")).talk,
      ask: async () => (await import("../verb/ask.ts")).ask,
      run: async () => (await import("../verb/run.ts")).run,
      up: async () => (await import("../verb/up.ts")).up,
      serve: async () => (await import("../verb/serve.ts")).serve,
      acp: async () => (await import("../verb/acp.ts")).acp,
      mcp: async () => (await import("../verb/mcp.ts")).mcp,
      proxy: async () => (await import("../verb/proxy.ts")).proxy,
      tickets: async () => (await import("../verb/tickets.ts")).tickets,
      send: async () => (await import("../verb/send.ts")).send,
    },
  },
  {
    title: "Input and knowledge",
    verbs: {
      append: async () => (await import("../verb/append.ts")).append,
      log: async () => (await import("../verb/log.ts")).log,
    },
  },
  {
    title: "Context",
    verbs: {
      explain: async () => (await import("../verb/explain.ts")).explain,
    },
  },
  {
    title: "Branches",
    verbs: {
      diff: async () => (await import("../verb/diff.ts")).diff,
      migrate: async () => (await import("../verb/migrate.ts")).migrate,
    },
  },
  {
    title: "Lifecycle",
    verbs: {
      trigger: async () => (await import("../verb/trigger.ts")).trigger,
    },
  },
  {
    title: "Resources and limits",
    verbs: {
      models: async () => (await import("../verb/models.ts")).models,
    },
  },
  {
    title: "The whole store",
    verbs: {
      verify: async () => (await import("../verb/verify.ts")).verify,
      anchor: async () => (await import("../verb/anchor.ts")).anchor,
      export: async () => (await import("../verb/export.ts")).exportVerb,
      import: async () => (await import("../verb/import.ts")).importVerb,
      convert: async () => (await import("../verb/convert.ts")).convert,
      keys: async () => (await import("../verb/keys.ts")).keys,
      tenants: async () => (await import("../verb/tenants.ts")).tenants,
      doctor: async () => (await import("../verb/doctor.ts")).doctor,
    },
  },
  {
    title: "Learning",
    verbs: {
      tour: async () => (await import("../verb/tour.ts")).tour,
      help: async () => (await import("../verb/help.ts")).help,
    },
  },
];

const ownVerbs: Loaders = Object.assign({}, ...groups.map((group) => group.verbs)) as Loaders;

const loadPlain = async () => (await import("./call-verb.ts")).plainVerbs;

/** The verb of this name, from its file or derived from the description of its call. */
export async function loadVerb(name: string): Promise<Verb | undefined> {
  const own = Object.hasOwn(ownVerbs, name) ? ownVerbs[name] : undefined;
  return own === undefined ? (await loadPlain()).get(name)?.verb : own();
}

export const verbNames = async (): Promise<readonly string[]> => [
  ...Object.keys(ownVerbs),
  ...(await loadPlain()).keys(),
];

/** All verbs, as the overview shows them. */
export async function loadGroups(): Promise<{ readonly title: string; readonly verbs: readonly Verb[] }[]> {
  const plain = [...(await loadPlain()).values()];
  return Promise.all(
    groups.map(async ({ title, verbs }) => ({
      title,
      verbs: [
        ...(await Promise.all(Object.values(verbs).map((load) => load()))),
        ...plain.filter(({ group }) => group === title).map(({ verb }) => verb),
      ],
    })),
  );
}

/** Words of other tools for our verbs. They are not accepted, only recognized. */
const wordsFor: Readonly<Record<string, string>> = {
  open: "new create start",
  ps: "list ls",
  top: "htop",
  up: "work worker daemon",
  serve: "server http listen",
  acp: "editor zed ide",
  mcp: "model-context-protocol",
  proxy: "gateway anthropic openai",
  log: "history events",
  "log -f": "tail",
  append: "add",
  chat: "talk repl",
  ask: "prompt say",
  input: "tell",
  "input --steer": "steer",
  send: "message",
  "send --reply-to": "reply",
  contract: "schema",
  deliver: "flush relay",
  tickets: "ticket plan issues",
  run: "continue",
  answer: "approve allow deny",
  compress: "compact",
  cost: "usage spend",
  agents: "agent",
  tenants: "tenant quota",
  models: "model",
  tools: "tool",
  save: "checkpoint",
  fork: "branch",
  merge: "join pull",
  lineage: "tree family",
  diff: "compare",
  score: "rate",
  "memory remember": "remember",
  "memory forget": "forget",
  "memory promote": "promote",
  replay: "rerun eval",
  amend: "edit update",
  rewind: "undo reset",
  handoff: "handover",
  suspend: "pause stop",
  activate: "resume",
  close: "terminate end",
  delete: "rm remove",
  erase: "redact purge wipe",
  hold: "freeze",
  "hold --lift": "lift",
  search: "find grep",
  query: "sql",
  verify: "fsck",
  scan: "secrets leaks",
  policy: "policies",
  hooks: "hook webhooks",
  tokens: "token auth",
  "tokens add": "login",
  retain: "gc clean vacuum",
  show: "info status",
  export: "backup",
  import: "restore",
  migrate: "move transfer",
  keys: "key",
  trigger: "triggers",
  "trigger add": "schedule cron webhook",
  "trigger fire": "wake",
};

export const otherWords: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(wordsFor).flatMap(([ours, words]) => words.split(" ").map((word) => [word, ours])),
);
