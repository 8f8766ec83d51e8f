/**
 * Lists sessions. It reads little but the index of the store, so it does without the engine, whose event
 * catalog takes longer to load than all the rest of this verb.
 */
import { limit } from "../../core/limit.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import { statuses } from "../../core/session/lifecycle.ts";
import { standingRows, type SessionSummary } from "../../runtime/read/session-list.ts";
import type { SessionFilter, Store } from "../../store/port.ts";
import { oneOf } from "../command/args.ts";
import { pairsOf, present } from "../command/input.ts";
import { count } from "../format/text.ts";
import { standingTable } from "../format/session-table.ts";
import { verb, type VerbCall } from "../command/verb.ts";

const shownByDefault = 50;

export const ps = verb({
  name: "ps",
  line: "List sessions, the most recently active first.",
  args: [],
  options: {
    status: { type: "list", value: statuses.join("|"), what: "only with this status" },
    agent: { type: "text", value: "NAME", what: "only of this agent" },
    label: { type: "list", value: "KEY=VALUE", what: "only with this label" },
    text: { type: "text", what: "only where this occurs in name or objective" },
    project: { type: "text", value: "ID", what: "only of this project" },
    since: { type: "time", what: "only active since then" },
    until: { type: "time", what: "only last active before then" },
    limit: {
      type: "count",
      least: 1,
      short: "n",
      value: "N",
      what: `at most this many sessions; by default ${shownByDefault}`,
    },
    all: { type: "flag", short: "a", what: "all sessions" },
    wide: { type: "flag", short: "w", what: "every column, also empty ones" },
  },
  about: [
    "NOW is what a session waits for: approval, budget, an answer, input, a reply, a time, a " +
      "trigger; for a queued one, the limit, slot, worker or retry; for a running one, its process. " +
      "Costs are as in skein cost, with the unconfirmed part beside them; an unknown price is shown " +
      "as unknown. Empty columns are left out on a terminal.",
  ],
  examples: [
    `skein ps  # the last ${shownByDefault}`,
    "skein ps --status open --status running --agent payroll  # open and running sessions of an agent",
    "skein ps --label team=hr --since 1d  # of a team, active in the last day",
    "skein ps --all --json | jq -r .id  # every id",
  ],
  async run(call) {
    const { options, out, store, nowMs } = call;
    const { agent, text, since: activeSince, until: activeBefore } = options;
    const status = options.status.map((word) => oneOf("--status", word, statuses));
    const filter: SessionFilter = {
      ...present({ agent, text, activeSince, activeBefore }),
      ...(options.project === undefined ? {} : { sessions: await membersOf(options.project, call) }),
      ...(status.length === 0 ? {} : { status }),
      ...(options.label.length === 0 ? {} : { labels: pairsOf("--label", options.label) }),
    };
    const most = options.all ? Infinity : (options.limit ?? shownByDefault);
    const { rows, more } = await listed(await store(), filter, most, { out, nowMs });
    if (out.json) return;
    if (rows.length === 0)
      return out.note(Object.keys(filter).length === 0 ? "no sessions yet" : "no session matches");
    for (const line of standingTable(rows, out, { nowMs, wide: options.wide })) await out.line(line);
    if (rows.some(({ status }) => status === null)) {
      out.note("parts of the index are missing; skein rebuild restores them");
    }
    if (more) out.note(out.dim(`the last ${count(rows.length)}; --all shows all`));
  },
});

/** Projects are folded from their logs, so this needs the engine. */
async function membersOf(project: string, { engine }: Pick<VerbCall, "engine">): Promise<SessionId[]> {
  return (await (await engine()).project(project)).sessions.filter((id) => isSessionId(id));
}

/**
 * Reads page by page. For programs each page is written at once; for people the rows are collected for the
 * table.
 */
async function listed(
  store: Store,
  filter: SessionFilter,
  most: number,
  { out, nowMs }: Pick<VerbCall, "out" | "nowMs">,
): Promise<{ readonly rows: readonly SessionSummary[]; readonly more: boolean }> {
  const kept: SessionSummary[] = [];
  let cursor: string | undefined;
  for (let left = most; left > 0;) {
    const page = await store.list(filter, { limit: Math.min(left, limit.listMax), ...present({ cursor }) });
    const rows = await standingRows(store, page.rows, nowMs);
    if (!out.json) kept.push(...rows);
    else for (const { session: id, ...row } of rows) await out.emit({ id, ...row });
    if (page.cursor === null) return { rows: kept, more: false };
    left -= page.rows.length;
    cursor = page.cursor;
  }
  return { rows: kept, more: true };
}
