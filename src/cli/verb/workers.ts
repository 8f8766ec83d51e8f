/** Lists the workers of a store. It reads what they made known, and does without the engine. */
import { shortId } from "../../core/text/short-id.ts";
import { workerMs } from "../../core/trigger/schedule.ts";
import { realWorld } from "../../runtime/world.ts";
import { ago } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const workers = verb({
  name: "workers",
  line: "List the workers that run sessions of this store, on this machine and others.",
  args: [],
  options: {},
  about: [
    "A worker makes itself known every few seconds. One that was not heard of for longer is gone: what it " +
      "ran is taken over by the others. It is shown for an hour.",
  ],
  examples: [
    "skein workers  # who works, on what, and since when",
    "skein workers --json | jq -r .name  # their names",
  ],
  async run({ out, store }) {
    const opened = await store();
    const leased = await opened.leased();
    const nowMs = opened.now();
    const { isGone } = realWorld();
    const rows = (await opened.workers()).map(({ name, sinceMs, untilMs, concurrency, limits }) => {
      const running = leased.filter(
        ({ lease }) => lease !== null && isOf(lease.holder, name) && lease.untilMs > nowMs,
      );
      const heardMs = untilMs - workerMs;
      const gone = untilMs <= nowMs || isGone?.(name) === true;
      const sessions = gone ? [] : running.map(({ session }) => session);
      return { name, sinceMs, heardMs, gone, concurrency, sessions, limits };
    });
    if (out.json) {
      for (const row of rows) await out.emit(row);
      return;
    }
    if (rows.length === 0) return out.note('there are no workers; "skein up" starts one');
    const columns = [
      { title: "WORKER" },
      { title: "SINCE", paint: out.dim },
      { title: "HEARD", paint: out.dim },
      { title: "RUNNING" },
      { title: "SESSIONS" },
    ];
    const cells = rows.map(({ name, sinceMs, heardMs, gone, concurrency, sessions }) => [
      oneLine(name),
      ago(sinceMs, nowMs),
      ago(heardMs, nowMs),
      gone ? "gone" : `${sessions.length} of ${concurrency}`,
      sessions.map(shortId).join(", ") || "-",
    ]);
    for (const line of table(columns, cells, { width: out.columns, heading: out.bold })) await out.line(line);
  },
});

/** With a name of its own, a worker adds which process it is. */
const isOf = (holder: string, name: string): boolean => holder === name || holder.startsWith(`${name}@`);
