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
    title: "What it is told and what it knows",
    verbs: {
      append: async () => (await import("./verb/append.ts")).append,
      record: async () => (await import("./verb/record.ts")).record,
      retract: async () => (await import("./verb/retract.ts")).retract,
      scratch: async () => (await import("./verb/scratch.ts")).scratch,
      log: async () => (await import("./verb/log.ts")).log,
      state: async () => (await import("./verb/state.ts")).state,
    },
  },
  {
    title: "Where it goes on from",
    verbs: {
      save: async () => (await import("./verb/save.ts")).save,
      load: async () => (await import("./verb/load.ts")).load,
      fork: async () => (await import("./verb/fork.ts")).fork,
      rewind: async () => (await import("./verb/rewind.ts")).rewind,
      clear: async () => (await import("./verb/clear.ts")).clear,
    },
  },
  {
    title: "Lifecycle",
    verbs: {
      suspend: async () => (await import("./verb/suspend.ts")).suspend,
      activate: async () => (await import("./verb/activate.ts")).activate,
      sleep: async () => (await import("./verb/sleep.ts")).sleep,
      interrupt: async () => (await import("./verb/interrupt.ts")).interrupt,
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
      budget: async () => (await import("./verb/budget.ts")).budget,
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
  send: "append",
  add: "append",
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
