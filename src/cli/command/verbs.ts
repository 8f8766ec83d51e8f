/** Verbs with a file of their own, in the order of the overview, each loaded on use; then the plain ones. */
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
      label: async () => (await import("../verb/label.ts")).label,
      delete: async () => (await import("../verb/delete.ts")).deleteVerb,
    },
  },
  {
    title: "Turns",
    verbs: {
      chat: async () => (await import("../verb/chat.ts")).talk,
      ask: async () => (await import("../verb/ask.ts")).ask,
      run: async () => (await import("../verb/run.ts")).run,
      up: async () => (await import("../verb/up.ts")).up,
      serve: async () => (await import("../verb/serve.ts")).serve,
      tickets: async () => (await import("../verb/tickets.ts")).tickets,
      input: async () => (await import("../verb/input.ts")).input,
      answer: async () => (await import("../verb/answer.ts")).answer,
      send: async () => (await import("../verb/send.ts")).send,
      contract: async () => (await import("../verb/contract.ts")).contract,
      deliver: async () => (await import("../verb/deliver.ts")).deliver,
    },
  },
  {
    title: "What it is told and what it knows",
    verbs: {
      append: async () => (await import("../verb/append.ts")).append,
      memory: async () => (await import("../verb/memory.ts")).memory,
      scratch: async () => (await import("../verb/scratch.ts")).scratch,
      log: async () => (await import("../verb/log.ts")).log,
      state: async () => (await import("../verb/state.ts")).state,
      score: async () => (await import("../verb/score.ts")).score,
    },
  },
  {
    title: "What the model sees",
    verbs: {
      context: async () => (await import("../verb/context.ts")).context,
      explain: async () => (await import("../verb/explain.ts")).explain,
      compress: async () => (await import("../verb/compress.ts")).compress,
    },
  },
  {
    title: "Where it goes on from",
    verbs: {
      load: async () => (await import("../verb/load.ts")).load,
      fork: async () => (await import("../verb/fork.ts")).fork,
      rewind: async () => (await import("../verb/rewind.ts")).rewind,
      lineage: async () => (await import("../verb/lineage.ts")).lineage,
      diff: async () => (await import("../verb/diff.ts")).diff,
      replay: async () => (await import("../verb/replay.ts")).replay,
      merge: async () => (await import("../verb/merge.ts")).merge,
      migrate: async () => (await import("../verb/migrate.ts")).migrate,
      clear: async () => (await import("../verb/clear.ts")).clear,
      handoff: async () => (await import("../verb/handoff.ts")).handoff,
    },
  },
  {
    title: "Lifecycle",
    verbs: {
      sleep: async () => (await import("../verb/sleep.ts")).sleep,
      trigger: async () => (await import("../verb/trigger.ts")).trigger,
      cancel: async () => (await import("../verb/cancel.ts")).cancel,
      hold: async () => (await import("../verb/hold.ts")).hold,
      erase: async () => (await import("../verb/erase.ts")).erase,
    },
  },
  {
    title: "What it may use",
    verbs: {
      bind: async () => (await import("../verb/bind.ts")).bind,
      grant: async () => (await import("../verb/grant.ts")).grant,
      tools: async () => (await import("../verb/tools.ts")).tools,
      budget: async () => (await import("../verb/budget.ts")).budget,
      cost: async () => (await import("../verb/cost.ts")).cost,
      agents: async () => (await import("../verb/agents.ts")).agents,
      models: async () => (await import("../verb/models.ts")).models,
    },
  },
  {
    title: "The whole store",
    verbs: {
      search: async () => (await import("../verb/search.ts")).search,
      query: async () => (await import("../verb/query.ts")).query,
      verify: async () => (await import("../verb/verify.ts")).verify,
      anchor: async () => (await import("../verb/anchor.ts")).anchor,
      scan: async () => (await import("../verb/scan.ts")).scan,
      export: async () => (await import("../verb/export.ts")).exportVerb,
      import: async () => (await import("../verb/import.ts")).importVerb,
      keys: async () => (await import("../verb/keys.ts")).keys,
      hooks: async () => (await import("../verb/hooks.ts")).hooks,
      tokens: async () => (await import("../verb/tokens.ts")).tokens,
      approvals: async () => (await import("../verb/approvals.ts")).approvals,
      policy: async () => (await import("../verb/policy.ts")).policy,
      retain: async () => (await import("../verb/retain.ts")).retain,
      rebuild: async () => (await import("../verb/rebuild.ts")).rebuild,
      workers: async () => (await import("../verb/workers.ts")).workers,
      tenants: async () => (await import("../verb/tenants.ts")).tenants,
      stats: async () => (await import("../verb/stats.ts")).stats,
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

/** Words that other tools have for ours. They are not accepted, only recognized. */
export const otherWords: Readonly<Record<string, string>> = {
  new: "open",
  create: "open",
  start: "open",
  list: "ps",
  htop: "top",
  work: "up",
  worker: "up",
  server: "serve",
  http: "serve",
  listen: "serve",
  daemon: "up",
  ls: "ps",
  history: "log",
  tail: "log -f",
  events: "log",
  add: "append",
  talk: "chat",
  repl: "chat",
  prompt: "ask",
  say: "ask",
  tell: "input",
  steer: "input --steer",
  message: "send",
  reply: "send --reply-to",
  schema: "contract",
  flush: "deliver",
  ticket: "tickets",
  plan: "tickets",
  issues: "tickets",
  relay: "deliver",
  continue: "run",
  approve: "answer",
  allow: "answer",
  deny: "answer",
  compact: "compress",
  usage: "cost",
  spend: "cost",
  agent: "agents",
  tenant: "tenants",
  quota: "tenants",
  model: "models",
  tool: "tools",
  checkpoint: "save",
  branch: "fork",
  join: "merge",
  pull: "merge",
  tree: "lineage",
  family: "lineage",
  compare: "diff",
  rate: "score",
  remember: "memory remember",
  forget: "memory forget",
  promote: "memory promote",
  rerun: "replay",
  eval: "replay",
  undo: "rewind",
  handover: "handoff",
  reset: "rewind",
  pause: "suspend",
  resume: "activate",
  stop: "suspend",
  terminate: "close",
  end: "close",
  rm: "delete",
  remove: "delete",
  redact: "erase",
  purge: "erase",
  wipe: "erase",
  freeze: "hold",
  lift: "hold --lift",
  find: "search",
  grep: "search",
  sql: "query",
  check: "verify",
  fsck: "verify",
  secrets: "scan",
  leaks: "scan",
  policies: "policy",
  hook: "hooks",
  webhooks: "hooks",
  token: "tokens",
  login: "tokens add",
  auth: "tokens",
  gc: "retain",
  clean: "retain",
  vacuum: "retain",
  info: "show",
  status: "show",
  backup: "export",
  restore: "import",
  move: "migrate",
  transfer: "migrate",
  key: "keys",
  triggers: "trigger",
  schedule: "trigger add",
  cron: "trigger add",
  webhook: "trigger add",
  wake: "trigger fire",
};
