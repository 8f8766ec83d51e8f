/** Shows a session on one screen: how it stands, what it knows, where it came from, what happened last. */
import type { Event } from "../../runtime/event-reader.ts";
import { eventLine } from "../event-line.ts";
import { stateLines } from "../state-lines.ts";
import { count } from "../text.ts";
import { verb } from "../verb.ts";

const lastEvents = 8;
const forksMax = 6;

export const show = verb({
  name: "show",
  line: "Show a session on one screen.",
  args: ["ID"],
  options: {},
  examples: [
    { command: "skein show 4x8kz1", what: "status, objective, items, checkpoints, forks, the last events" },
    {
      command: "skein show 4x8kz1 --json | jq .head",
      what: "position and hash of the last record, to be noted elsewhere",
    },
  ],
  async run({ args, out, session, store, nowMs }) {
    const found = await session(args.ID);
    const state = await found.state();
    const { seq, hash } = await found.head();
    const forks = await (await store()).forks(found.id);
    const events: Event[] = [];
    for await (const event of found.events({ reverse: true, limit: lastEvents })) events.unshift(event);
    await out.answer({ id: found.id, ...state, head: { seq, hash }, forks, events }, () => [
      ...stateLines(state, out, nowMs),
      ...(forks.length === 0 ? [] : ["", out.bold("Forks")]),
      ...forks.slice(0, forksMax).map((fork) => `  ${fork.session}  ${out.dim(`at ${fork.seq}`)}`),
      ...(forks.length > forksMax ? [out.dim(`  and ${count(forks.length - forksMax)} more`)] : []),
      "",
      out.bold("Last events"),
      ...events.map((event) => eventLine(event, out)),
    ]);
  },
});
