/** All verbs, in the order in which help shows them. Each is loaded when it is used. */
import type { Verb } from "./verb.ts";

type Loaders = Readonly<Record<string, () => Promise<Verb>>>;

export const groups: readonly { readonly title: string; readonly verbs: Loaders }[] = [
  {
    title: "Sessions",
    verbs: {
      open: async () => (await import("./verb/open.ts")).open,
      ps: async () => (await import("./verb/ps.ts")).ps,
      show: async () => (await import("./verb/show.ts")).show,
      rename: async () => (await import("./verb/rename.ts")).rename,
      label: async () => (await import("./verb/label.ts")).label,
      prioritize: async () => (await import("./verb/prioritize.ts")).prioritize,
      delete: async () => (await import("./verb/delete.ts")).deleteVerb,
    },
  },
  {
    title: "Turns",
    verbs: {
      chat: async () => (await import("./verb/chat.ts")).talk,
      ask: async () => (await import("./verb/ask.ts")).ask,
      run: async () => (await import("./verb/run.ts")).run,
      input: async () => (await import("./verb/input.ts")).input,
      answer: async () => (await import("./verb/answer.ts")).answer,
      interrupt: async () => (await import("./verb/interrupt.ts")).interrupt,
      send: async () => (await import("./verb/send.ts")).send,
    },
  },
  {
    title: "What it is told and what it knows",
    verbs: {
      append: async () => (await import("./verb/append.ts")).append,
      record: async () => (await import("./verb/record.ts")).record,
      retract: async () => (await import("./verb/retract.ts")).retract,
      scratch: async () => (await import("./verb/scratch.ts")).scratch,
      log: async () => (await import("./verb/log.ts")).log,
      state: async () => (await import("./verb/state.ts")).state,
      score: async () => (await import("./verb/score.ts")).score,
    },
  },
  {
    title: "What the model sees",
    verbs: {
      context: async () => (await import("./verb/context.ts")).context,
      explain: async () => (await import("./verb/explain.ts")).explain,
      compress: async () => (await import("./verb/compress.ts")).compress,
    },
  },
  {
    title: "Where it goes on from",
    verbs: {
      save: async () => (await import("./verb/save.ts")).save,
      load: async () => (await import("./verb/load.ts")).load,
      fork: async () => (await import("./verb/fork.ts")).fork,
      rewind: async () => (await import("./verb/rewind.ts")).rewind,
      lineage: async () => (await import("./verb/lineage.ts")).lineage,
      diff: async () => (await import("./verb/diff.ts")).diff,
      merge: async () => (await import("./verb/merge.ts")).merge,
      clear: async () => (await import("./verb/clear.ts")).clear,
    },
  },
  {
    title: "Lifecycle",
    verbs: {
      suspend: async () => (await import("./verb/suspend.ts")).suspend,
      activate: async () => (await import("./verb/activate.ts")).activate,
      sleep: async () => (await import("./verb/sleep.ts")).sleep,
      cancel: async () => (await import("./verb/cancel.ts")).cancel,
      close: async () => (await import("./verb/close.ts")).close,
      reopen: async () => (await import("./verb/reopen.ts")).reopen,
      archive: async () => (await import("./verb/archive.ts")).archive,
    },
  },
  {
    title: "What it may use",
    verbs: {
      bind: async () => (await import("./verb/bind.ts")).bind,
      unbind: async () => (await import("./verb/unbind.ts")).unbind,
      grant: async () => (await import("./verb/grant.ts")).grant,
      tools: async () => (await import("./verb/tools.ts")).tools,
      budget: async () => (await import("./verb/budget.ts")).budget,
      cost: async () => (await import("./verb/cost.ts")).cost,
      agents: async () => (await import("./verb/agents.ts")).agents,
      models: async () => (await import("./verb/models.ts")).models,
    },
  },
  {
    title: "The whole store",
    verbs: {
      search: async () => (await import("./verb/search.ts")).search,
      query: async () => (await import("./verb/query.ts")).query,
      verify: async () => (await import("./verb/verify.ts")).verify,
      export: async () => (await import("./verb/export.ts")).exportVerb,
      rebuild: async () => (await import("./verb/rebuild.ts")).rebuild,
      stats: async () => (await import("./verb/stats.ts")).stats,
      doctor: async () => (await import("./verb/doctor.ts")).doctor,
    },
  },
  {
    title: "Learning",
    verbs: {
      tour: async () => (await import("./verb/tour.ts")).tour,
      help: async () => (await import("./verb/help.ts")).help,
    },
  },
];

export const verbs: Loaders = Object.assign({}, ...groups.map((group) => group.verbs)) as Loaders;

/** Words that other tools have for ours. They are not accepted, only recognized. */
export const otherWords: Readonly<Record<string, string>> = {
  new: "open",
  create: "open",
  start: "open",
  list: "ps",
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
  continue: "run",
  approve: "answer",
  allow: "answer",
  deny: "answer",
  compact: "compress",
  usage: "cost",
  spend: "cost",
  agent: "agents",
  model: "models",
  tool: "tools",
  checkpoint: "save",
  branch: "fork",
  undo: "rewind",
  reset: "rewind",
  pause: "suspend",
  resume: "activate",
  stop: "suspend",
  terminate: "close",
  end: "close",
  rm: "delete",
  remove: "delete",
  find: "search",
  grep: "search",
  sql: "query",
  check: "verify",
  fsck: "verify",
  info: "show",
  status: "show",
};
