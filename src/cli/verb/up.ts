/** Runs a worker until it is stopped: runs sessions that have something to do, in parallel. */
import { shortId } from "../../core/text/short-id.ts";
import { once } from "node:events";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { checkLimit, type RunLimit } from "../../core/trigger/schedule.ts";
import { errorText, firstError } from "../../core/first-error.ts";
import type { WorkerEvent } from "../../runtime/worker/worker.ts";
import { listenRelay } from "../../server/stream/relay-listen.ts";
import { present } from "../command/input.ts";
import { storeExists } from "../open/open-engine.ts";
import { roughly } from "../../core/text/utc.ts";
import { exact } from "../format/moment.ts";
import { spendText } from "../../core/text/money.ts";
import type { Screen } from "../command/screen.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

const concurrencyUsual = 4;

export const up = verb({
  name: "up",
  line: "Run a worker: it runs sessions that have something to do, in parallel, until it is stopped.",
  args: [],
  options: {
    concurrency: {
      type: "count",
      least: 1,
      short: "c",
      value: "N",
      what: `the number of sessions to run at once; by default ${concurrencyUsual}`,
    },
    limit: {
      type: "list",
      short: "l",
      value: "OF=N",
      what: "run at most N of these at once, over all workers: agent:NAME, model:NAME or label:KEY=VALUE",
    },
    name: { type: "text", what: "the worker's name for others; by default the process" },
  },
  about: [
    "Several workers may share one store, on this machine and others: each session runs in one " +
      "place. The most urgent go first, then agents take turns, then the longest wait. A worker takes " +
      "over what a dead one has left. It also wakes sleeping sessions, fires triggers, delivers " +
      "messages to other stores, and closes expired sessions.",
    "It prints a line for each event. Ctrl-C finishes the steps in progress and releases " +
      "everything; a second Ctrl-C ends it at once, and others take over. A session that cannot run " +
      "is retried, and suspended when that does not help.",
    "Deltas reach servers of the store on this machine (skein serve); those on others where the " +
      "worker is a server itself: skein serve --relay-address.",
  ],
  examples: [
    "skein up  # until Ctrl-C",
    "skein up --concurrency 8 --limit agent:coder=2  # at most two of agent coder",
    "skein up -l model:openai/gpt-6-sol=4 -l label:team=web=1 --json  # events for a program",
  ],
  async run({ options, out, engine, place, untilStopped }) {
    const limits = options.limit.map(limitOf);
    const concurrency = options.concurrency ?? concurrencyUsual;
    if (concurrency > limit.concurrencyMax) {
      throw new SkeinError(
        "invalid",
        `--concurrency: expected at most ${limit.concurrencyMax}, got ${concurrency}`,
        {
          hint: `at most ${limit.concurrencyMax}`,
        },
      );
    }
    const fresh = !(await storeExists(place));
    const opened = await engine({ create: true });
    if (fresh) out.note(out.dim(`created a new store: ${place}`));
    const stopped = untilStopped();
    // Without it, readers get finished messages.
    await using _ = await listenRelay(opened).catch(() => null);
    let printing = Promise.resolve();
    const onEvent = (event: WorkerEvent): void => {
      printing = printing.then(() => printEvent(out, event));
    };
    const worker = await opened.work({ concurrency, limits, onEvent, ...present({ name: options.name }) });
    out.note(out.dim(`${worker.name} runs up to ${plural(concurrency, "session")} at once; Ctrl-C stops it`));
    if (!stopped.aborted) await once(stopped, "abort");
    out.note(out.dim("finishing the steps in progress; Ctrl-C again ends at once"));
    await worker.stop();
    await printing;
  },
});

/** `agent:coder=2`, `model:openai/gpt-6-sol=4`, `label:team=web=1`. */
export function limitOf(word: string): RunLimit {
  const [, kind = "", of = "", count = ""] = /^(agent|model|label):(.+)=(\d{1,6})$/s.exec(word) ?? [];
  const running = Number(count);
  const [, key = "", value = ""] = kind === "label" ? (/^([^=]+)=(.*)$/s.exec(of) ?? []) : [];
  if (kind === "" || (kind === "label" && key === "")) {
    throw new SkeinError("invalid", `--limit: invalid limit ${quote(word)}`, {
      hint: "for example agent:coder=2, model:openai/gpt-6-sol=4 or label:team=web=1",
    });
  }
  const what = kind === "label" ? { labels: { [key]: value } } : { [kind]: of };
  return checkLimit({ ...what, running }, "--limit");
}

async function printEvent(out: Screen, event: WorkerEvent): Promise<void> {
  const atMs = Date.now();
  if (out.json)
    return out.emit({ at: atMs, ...event, ...("error" in event ? { error: errorOf(event.error) } : {}) });
  const time = out.dim(exact(atMs).slice(11, 19));
  const name = (session: SessionId | null): string => (session === null ? "" : out.bold(shortId(session)));
  await out.line(`${time} ${name(event.session)} ${oneLine(textOf(event))}`);
}

function textOf(event: WorkerEvent): string {
  switch (event.type) {
    case "began":
      return event.by === null ? "began" : `began, by ${event.by}`;
    case "ended": {
      const { status, by } = event.ran;
      const stands = status === "open" ? "" : `, ${status}${by === null ? "" : ` (${by})`}`;
      const isFree = event.nanoUsd + event.unconfirmedNanoUsd + event.unpriced === 0;
      const cost = isFree ? "" : `, ${spendText(event)}`;
      if (status === "running") return `stopped before its next step${cost}`;
      return `ended: ${event.outcome ?? "nothing to do"}${stands}${cost}`;
    }
    case "yielded":
      return `preempted by ${shortId(event.to)}`;
    case "failed": {
      const { message, hint } = errorOf(event.error);
      const next = event.againMs === null ? "suspended" : `retrying in ${roughly(event.againMs)}`;
      return `failed: ${message}${hint === undefined ? "" : ` (${hint})`}; ${next}`;
    }
    case "trouble":
      return `trouble: ${event.text}`;
  }
}

function errorOf(given: unknown): { code: string; message: string; hint?: string } {
  const error = firstError(given);
  const message = errorText(error);
  if (!(error instanceof SkeinError)) return { code: "internal", message };
  return { code: error.code, message, ...(error.hint === undefined ? {} : { hint: error.hint }) };
}
