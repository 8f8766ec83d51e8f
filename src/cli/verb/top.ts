/** Sessions and their status, live: a screen that is redrawn, and takes keys. */
import { limit } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import { standingRows, type SessionSummary } from "../../runtime/read/session-list.ts";
import type { SessionFilter, Store } from "../../store/port.ts";
import { present } from "../command/input.ts";
import type { Screen } from "../command/screen.ts";
import { frameOf, sortBy, sorted, sorts, type TopSort, type Top } from "../format/top-frame.ts";
import { oneLine } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";

const everyMs = 1_000;
const shownMax = 200;

export const top = verb({
  name: "top",
  line: "Show sessions and their status, live; keys sort, open, suspend, interrupt and follow.",
  args: [],
  options: {
    agent: { type: "text", value: "NAME", what: "only of this agent" },
    all: { type: "flag", short: "a", what: "also closed ones" },
    sort: { type: "text", value: sorts.join("|"), what: "the order; by default active" },
    once: { type: "flag", what: "draw once, and end" },
  },
  about: [
    "Keys: up and down (or k and j) select a session; Enter opens it, f follows its log, s suspends " +
      "or activates it, i interrupts its turn; a, p, c, n and t sort by activity, priority, cost, " +
      "agent and status, again reverses the order; q ends it, or goes back. Without a terminal: drawn " +
      "once.",
  ],
  examples: [
    "skein top  # running and waiting sessions",
    "skein top --agent coder --sort cost  # the most expensive first",
    "skein top --once  # one frame, for a script",
  ],
  endsUnread: true,
  async run(call) {
    const { options, out, nowMs } = call;
    const sort = sortBy(options.sort ?? "active");
    const store = await call.store();
    const filter = filterOf(options);
    if (out.json) {
      for (const { session: id, ...row } of sorted(await read(store, filter, nowMs), sort, false))
        await out.emit({ id, ...row });
      return;
    }
    const live = !options.once && out.columns !== null && process.stdin.isTTY;
    if (!live) return drawOnce(out, await read(store, filter, nowMs), { sort, nowMs });
    await watch(call, store, filter, sort);
  },
});

function filterOf({
  agent,
  all,
}: {
  readonly agent: string | undefined;
  readonly all: boolean;
}): SessionFilter {
  return { ...present({ agent }), ...(all ? {} : { status: ["open", "running", "suspended", "sleeping"] }) };
}

async function read(store: Store, filter: SessionFilter, nowMs: number): Promise<SessionSummary[]> {
  const { rows } = await store.list(filter, { limit: Math.min(shownMax, limit.listMax) });
  return standingRows(store, rows, nowMs);
}

async function drawOnce(
  out: Screen,
  rows: readonly SessionSummary[],
  { sort, nowMs }: { readonly sort: TopSort; readonly nowMs: number },
): Promise<void> {
  const state: Top = { rows: sorted(rows, sort, false), sort, turned: false, chosen: null, says: "" };
  for (const line of frameOf(state, out, { nowMs, height: null })) await out.line(line);
}

/** What a key is called. */
const names: Readonly<Record<string, string>> = {
  "\u001b[A": "up",
  "\u001b[B": "down",
  k: "up",
  j: "down",
  "\r": "open",
  "\n": "open",
  o: "open",
  f: "follow",
  l: "follow",
  s: "suspend",
  i: "interrupt",
  q: "quit",
  "\u001b": "quit",
  "\u0003": "end",
};
const sortKeys: Readonly<Record<string, TopSort>> = {
  a: "active",
  p: "priority",
  c: "cost",
  n: "agent",
  t: "status",
};

interface View {
  readonly verb: "show" | "log";
  readonly session: string;
}

/** The live screen: one at a time. */
class Live {
  #sort: TopSort;
  #turned = false;
  #chosen: string | null = null;
  #says = "";
  #rows: readonly SessionSummary[] = [];
  #view: View | null = null;
  readonly #call: VerbCall;
  readonly #read: () => Promise<SessionSummary[]>;
  readonly ended = new AbortController();

  constructor(call: VerbCall, read: () => Promise<SessionSummary[]>, sort: TopSort) {
    this.#call = call;
    this.#read = read;
    this.#sort = sort;
  }

  async draw(): Promise<void> {
    const { out } = this.#call;
    const height = (process.stdout.rows || 24) - 1;
    const lines = this.#view === null ? await this.#frame(height) : await this.#viewed(this.#view, height);
    if (this.ended.signal.aborted) return;
    await out.text(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`);
  }

  async #frame(height: number): Promise<string[]> {
    const nowMs = Date.now();
    this.#rows = sorted(await this.#read(), this.#sort, this.#turned);
    this.#chosen ??= this.#rows[0]?.session ?? null;
    const state = {
      rows: this.#rows,
      sort: this.#sort,
      turned: this.#turned,
      chosen: this.#chosen,
      says: this.#says,
    };
    return frameOf(state, this.#call.out, { nowMs, height });
  }

  /** Another verb's output, at every redraw: this follows a log. */
  async #viewed({ verb: name, session }: View, height: number): Promise<string[]> {
    const more = name === "log" ? ["--reverse", "--limit", String(height - 2)] : [];
    const words = ["--store", this.#call.place, name, session, ...more];
    const { stdout, stderr } = await this.#call.perform(words, { columns: this.#call.out.columns });
    const said = `${stdout}${stderr}`.trimEnd().split("\n");
    const lines = name === "log" ? said.toReversed() : said;
    const hint = this.#call.out.dim(name === "log" ? "q: back; updates live" : "q: back");
    return [...lines.slice(0, height - 2), "", hint];
  }

  async key(key: string): Promise<void> {
    const by = sortKeys[key];
    const name = names[key];
    if (name === "end") return this.ended.abort();
    this.#says = "";
    if (this.#view !== null) {
      if (name === "quit" || name === "open") this.#view = null;
    } else if (name === "quit") this.ended.abort();
    else if (name === "up" || name === "down") this.#move(name === "up" ? -1 : 1);
    else if (by !== undefined) {
      this.#turned = by === this.#sort && !this.#turned;
      this.#sort = by;
    } else if (name !== undefined) await this.#act(name);
    await this.draw();
  }

  #move(by: number): void {
    const at = this.#rows.findIndex(({ session }) => session === this.#chosen);
    const next = Math.min(this.#rows.length - 1, Math.max(0, at + by));
    this.#chosen = this.#rows[next]?.session ?? null;
  }

  async #act(name: string): Promise<void> {
    const row = this.#rows.find(({ session }) => session === this.#chosen);
    if (row === undefined) return;
    const { session: id, status } = row;
    if (name === "open") this.#view = { verb: "show", session: id };
    else if (name === "follow") this.#view = { verb: "log", session: id };
    else {
      try {
        const session = await this.#call.session(id);
        if (name === "interrupt") await session.interrupt({});
        else if (status === "suspended") await session.activate({});
        else await session.suspend({});
        this.#says = name === "interrupt" ? "interrupted" : status === "suspended" ? "resumed" : "suspended";
      } catch (error) {
        this.#says = oneLine(errorText(error));
      }
    }
  }
}

async function watch(call: VerbCall, store: Store, filter: SessionFilter, sort: TopSort): Promise<void> {
  const { out, untilStopped } = call;
  const live = new Live(call, () => read(store, filter, Date.now()), sort);
  const over = AbortSignal.any([untilStopped(), live.ended.signal]);
  const { stdin } = process;
  // One thing after the other: a key during a redraw waits.
  let doing: Promise<void> = Promise.resolve();
  const then = (work: () => Promise<void>): void => {
    doing = doing.then(() => (over.aborted ? undefined : work())).catch(() => undefined);
  };
  const typed = (bytes: Buffer): void => {
    const text = bytes.toString("utf8");
    for (const key of text.match(/\u001b\[[A-Z]|[\s\S]/g) ?? []) then(() => live.key(key));
  };
  const timer = setInterval(() => then(() => live.draw()), everyMs);
  await out.text("\u001b[?1049h\u001b[?25l\u001b[2J");
  stdin.setRawMode(true);
  stdin.on("data", typed).resume();
  try {
    then(() => live.draw());
    if (!over.aborted) await new Promise<void>((resolve) => over.addEventListener("abort", () => resolve()));
    await doing;
  } finally {
    clearInterval(timer);
    stdin.off("data", typed).pause();
    stdin.setRawMode(false);
    await out.text("\u001b[?25h\u001b[?1049l");
  }
}
