/** Shows a session on one screen: its status, what it knows, its origin, and the last events. */
import { zoneReasons } from "../../core/context/zone.ts";
import { readContent } from "../../runtime/read/content.ts";
import type { Store } from "../../store/port.ts";
import type { StoredBinding } from "../../tool/port.ts";
import { present } from "../command/input.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { eventLine } from "../format/event-line.ts";
import { stateLines } from "../format/state-lines.ts";
import { count } from "../format/text.ts";
import { verb } from "../command/verb.ts";
import { whereTo } from "../../runtime/read/move-target.ts";
import type { SessionEvent } from "../../core/event.ts";

const lastEvents = 8;
const forksMax = 6;

export const show = verb({
  name: "show",
  line: "Show a session on one screen.",
  args: ["ID"],
  options: {},
  examples: [
    "skein show 4x8kz1  # status, objective, items, checkpoints, forks, the last events",
    "skein show 4x8kz1 --json | jq .head  # position and hash of the last record, to be noted elsewhere",
  ],
  async run({ args, out, session, store, nowMs }) {
    const found = await session(args.ID);
    const state = await found.state();
    const { seq, hash } = await found.head();
    const opened = await store();
    const forks = await opened.forks(found.id);
    const copy = (await opened.head(found.id))?.copy === true;
    const movedTo = state.status === "moved" ? await whereTo(opened, found.id, await found.fold()) : null;
    const why = await zoneReasonsOf(found);
    const paths = await pathsOf(opened, found);
    const events: SessionEvent[] = [];
    for await (const event of found.events({ reverse: true, limit: lastEvents })) events.unshift(event);
    const shown = {
      id: found.id,
      ...state,
      bindings: state.bindings.map((one) => ({ ...one, ...present({ path: paths.get(one.name) }) })),
      zoneReasons: why,
      copy,
      movedTo,
      head: { seq, hash },
      forks,
      events,
    };
    await out.answer(shown, () => [
      ...stateLines(state, out, nowMs, { copy, movedTo, zoneReasons: why, paths }),
      ...(forks.length === 0 ? [] : ["", out.bold("Forks")]),
      ...forks.slice(0, forksMax).map((fork) => `  ${fork.session}  ${out.dim(`at ${fork.seq}`)}`),
      ...(forks.length > forksMax ? [out.dim(`  and ${count(forks.length - forksMax)} more`)] : []),
      "",
      out.bold("Last events"),
      ...events.map((event) => eventLine(event, out)),
    ]);
  },
});

/** Where bound files, directories and shells are, by the names of their bindings. */
async function pathsOf(opened: Store, session: Session): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  for (const [name, { seq }] of (await session.fold()).standing.bindings.entries()) {
    const bound = (await readContent(opened, session.id, seq)) as Partial<StoredBinding> | undefined;
    const { cwd } = (bound?.options ?? {}) as { readonly cwd?: unknown };
    const path = typeof cwd === "string" ? cwd : bound?.path;
    if (path !== undefined) paths.set(name, path);
  }
  return paths;
}

/** Why the context is in its zone, from the record of the change. */
export async function zoneReasonsOf(session: Session): Promise<readonly string[]> {
  for await (const { body } of session.events({ types: ["zone.crossed"], reverse: true, limit: 1 }))
    return zoneReasons((body ?? {}) as Readonly<Record<string, unknown>>);
  return [];
}
