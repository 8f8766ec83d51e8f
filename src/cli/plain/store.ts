/** Verbs on the whole store. */
import { addSpend, noSpend, spendText, type Spend } from "../../core/budget/money.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { shortId } from "../../core/text/short-id.ts";
import { workerMs } from "../../core/trigger/schedule.ts";
import type { Engine, EngineStats } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { PendingDelivery } from "../../runtime/message/deliver.ts";
import { costRow, type CostRow } from "../../runtime/read/cost.ts";
import { realWorld } from "../../runtime/world.ts";
import { locateStore } from "../../store/registry.ts";
import { present } from "../command/input.ts";
import { grid, invalid, plain } from "../command/presentation.ts";
import { ago, exact } from "../format/moment.ts";
import { importedLines } from "../format/imported-lines.ts";
import { importedText } from "../format/state-lines.ts";
import { retainLines } from "../format/retain-lines.ts";
import { eraseCommand, scanLines } from "../format/scan-lines.ts";
import { table } from "../format/table.ts";
import { bytes, count, oneLine, plain as plainText, plural } from "../format/text.ts";
import { notLookedFor } from "../open/secrets.ts";
import { openHere } from "../open/tenants.ts";

export const storePlain = [
  plain("engine.delete", {
    options: { yes: { type: "flag", short: "y", what: "confirm it" } },
    async call({ params: { reason }, given, found, engine, store }) {
      const { seq: headSeq, hash } = await found.head();
      if (!given.yes) {
        await refuseIfHeld(found, (await (await store()).head(found.id))?.copy === true);
        throw new SkeinError(
          "refused",
          `${found.id} and its ${plural(headSeq, "event")} would be deleted permanently`,
          { hint: 'add --yes to confirm; "skein archive" keeps the session' },
        );
      }
      await (await engine()).delete(found.id, present({ reason }));
      return { id: found.id, deleted: true, headSeq, hash };
    },
    print: ({ id }) => ({ lines: [`deleted ${id}`] }),
  }),
  plain("engine.deliver", {
    progress: ({ messages, sessions }) => `${plural(messages, "message")} of ${plural(sessions, "session")}`,
    print: ({ delivered, refused, overdue, waiting }) => ({
      lines: [
        `${plural(delivered, "message")} delivered` +
          (refused === 0 ? "" : `, ${refused} refused`) +
          (overdue === 0 ? "" : `, ${plural(overdue, "request")} timed out`),
        ...waiting.map((one) => waitingLine(one)),
      ],
    }),
  }),
  plain("engine.rebuild", {
    progress: ({ records, sessions }) =>
      `rebuilt ${plural(sessions, "session")}, ${plural(records, "record")}`,
    print(report) {
      const { sessions, records, snapshots, unreadable } = report;
      const ok = unreadable.length === 0;
      const of = `${plural(sessions, "session")} from ${plural(records, "record")}`;
      return {
        json: { ok, ...report },
        lines: [
          `rebuilt ${of}, with ${plural(snapshots, "snapshot")}`,
          ...unreadable.map((id) => `left as it was, its log cannot be read: ${id}; run skein verify ${id}`),
        ],
        code: ok ? 0 : 5,
      };
    },
  }),
  plain("engine.search", {
    print(hits, { out, nowMs }) {
      if (hits.length === 0) return { lines: [], notes: ["nothing found"] };
      const short = out.columns !== null;
      const rows = hits.map((hit) => [
        short ? shortId(hit.session) : hit.session,
        String(hit.seq),
        short ? ago(hit.at, nowMs) : exact(hit.at),
        oneLine(hit.type),
        hit.mind,
        oneLine(hit.snippet),
      ]);
      return { lines: grid(out, ["ID", ">SEQ", "~WHEN", "TYPE", "MIND", "TEXT"], rows) };
    },
  }),
  plain("engine.query", {
    print({ columns, rows }, { out }) {
      const names = distinct(columns);
      const cells = rows.map((row) => row.map((value) => oneLine(plainText(value))));
      const isNumeric = (place: number): boolean =>
        rows.length > 0 && rows.every((row) => typeof row[place] === "number");
      const shown = names.map((name, place) => ({
        title: oneLine(name),
        flexible: true,
        ...(isNumeric(place) ? { align: "right" as const } : {}),
      }));
      return {
        json: rows.map((row) => Object.fromEntries(names.map((name, place) => [name, row[place] ?? null]))),
        lines: table(shown, cells, { width: out.columns, heading: out.bold }),
        notes: [out.dim(plural(rows.length, "row"))],
      };
    },
  }),
  plain("engine.scan", {
    progress: ({ records, sessions }) =>
      `scanned ${plural(records, "record")} of ${plural(sessions, "session")}`,
    print(report, { out }) {
      const unknown = notLookedFor(process.env);
      const findings = report.findings.map((found) => ({ ...found, erase: eraseCommand(found) }));
      return {
        json: { ...report, findings, notLookedFor: unknown },
        lines: [
          ...scanLines(report, out),
          ...unknown.map(({ name, why }) => `not looked for: ${name} of secrets.names ${why}`),
        ],
        code: findings.length === 0 ? 0 : 1,
      };
    },
  }),
  plain("engine.retain", {
    async prepare({ params: { dryRun, everything }, engine }) {
      if (dryRun !== true && everything !== true) await confirmRetain(await engine());
    },
    progress: ({ sessions, done }) => `${plural(sessions, "session")}, ${count(done)} done`,
    print: (report, { out }) => ({ lines: retainLines(report, out) }),
  }),
  plain("engine.workers", {
    /** Reads the store alone: the engine takes longer to open. */
    async call({ store }) {
      const opened = await store();
      const leased = await opened.leased();
      const nowMs = opened.now();
      const { isGone } = realWorld();
      return (await opened.workers()).map(({ name, sinceMs, untilMs, concurrency, limits }) => {
        // A worker with a chosen name adds its process.
        const isOf = (holder: string): boolean => holder === name || holder.startsWith(`${name}@`);
        const running = leased.filter(({ lease }) => lease && isOf(lease.holder) && lease.untilMs > nowMs);
        const gone = untilMs <= nowMs || isGone?.(name) === true;
        const sessions = gone ? [] : running.map(({ session }) => session);
        return { name, sinceMs, heardMs: untilMs - workerMs, gone, concurrency, sessions, limits };
      });
    },
    print(all, { out, nowMs }) {
      if (all.length === 0) return { lines: [], notes: ['there are no workers; "skein up" starts one'] };
      const rows = all.map(({ name, sinceMs, heardMs, gone, concurrency, sessions }) => [
        oneLine(name),
        ago(sinceMs, nowMs),
        ago(heardMs, nowMs),
        gone ? "gone" : `${sessions.length} of ${concurrency}`,
        sessions.map(shortId).join(", ") || "-",
      ]);
      return { lines: grid(out, ["WORKER", "~SINCE", "~HEARD", "RUNNING", "SESSIONS"], rows) };
    },
  }),
  plain("engine.stats", {
    /** Sizes need the store alone: the engine takes longer to open. */
    call: async ({ params: { imported }, store, engine }): Promise<EngineStats> =>
      imported === true ? (await engine()).stats({ imported }) : (await store()).stats(),
    async print(figures, { out, place }) {
      if (figures.imported !== undefined) return { json: figures, ...importedLines(figures.imported, out) };
      const { contentBytes, blobBytes, records } = figures;
      const said = contentBytes + blobBytes;
      // The counts are of one tenant, the size in PostgreSQL is of all.
      const ofAll = figures.driver === "postgres";
      const own = ofAll ? null : figures.bytes;
      const ratio = own === null || said === 0 ? null : Number((own / said).toFixed(2));
      const perRecord = own === null || records === 0 ? null : Math.round(own / records);
      const { shown } = await locateStore(place);
      const size = figures.bytes === null ? "unknown" : bytes(figures.bytes) + (ofAll ? ", all tenants" : "");
      const rows = {
        store: shown,
        driver: `${figures.driver} ${figures.version}, durable to ${figures.durability}`,
        size,
        sessions: count(figures.sessions),
        records: count(records) + (perRecord === null ? "" : `, ${bytes(perRecord)} each on disk`),
        contents:
          bytes(contentBytes) + (ratio === null ? "" : `, ${ratio} bytes on disk for each byte of content`),
        snapshots: `${count(figures.snapshots)}, ${bytes(figures.snapshotBytes)}`,
        segments: `${count(figures.segments)}, ${bytes(figures.segmentBytes)}`,
        blobs: `${count(figures.blobs)}, ${bytes(blobBytes)}`,
        ...(figures.unscrubbed ? { scrub: "pending: the files may hold traces of erased content" } : {}),
      };
      return {
        json: { path: shown, ...figures, bytesPerContentByte: ratio, bytesPerRecord: perRecord },
        lines: Object.entries(rows).map(([name, value]) => `${out.dim(name.padEnd(14))}${value}`),
      };
    },
  }),
  plain("engine.cost", {
    prepare({ params }) {
      const { session, family } = params;
      if (family === true && session === undefined)
        throw invalid("cost: --family requires an ID", "pass the ID of any session of the family");
      params.by ??= session === undefined || family === true ? "session" : "model";
    },
    async call({ params: { by = "session", session, since, until, ...rest }, place, engine }) {
      const between = present({ since, until });
      if (by === "tenant") return byTenant(place, session, between);
      return (await engine()).cost({ by, ...present({ session }), ...between, ...rest });
    },
    async print(found, { params: { by = "session", daily = false, session }, out, engine }) {
      const json = found.map(({ group, ...rest }) => ({ [by]: group, ...rest }));
      const elsewhere = session === undefined ? "" : await importedOf(await engine(), session);
      const notes = elsewhere === "" ? [] : [`imported: ${elsewhere}`];
      if (found.length === 0) return { json, lines: [], notes: ["no model was called", ...notes] };
      const isSure = found.every(({ unconfirmedTokens }) => unconfirmedTokens === 0);
      const days = daily ? ["DAY"] : [];
      const counts = [">CALLS", ">TOKENS IN", ">OUT", ...(isSure ? [] : [">UNCONFIRMED"])];
      const titles = [...days, by.toUpperCase(), ...counts, ">COST"];
      const first = (day = ""): string[] => (daily ? [day] : []);
      const cells = (name: string, spend: Spend): string[] => costCells(name, spend, isSure);
      const rows = found.map((row) => [...first(row.day), ...cells(groupName(by, row), row)]);
      const sum = [...first(), ...cells("in all", found.reduce<Spend>(addSpend, noSpend))];
      return { json, lines: grid(out, titles, found.length === 1 ? rows : [...rows, sum]), notes };
    },
  }),
];

/** What an imported session used elsewhere: no cost here counts it. */
async function importedOf(engine: Engine, session: string): Promise<string> {
  const { standing } = await (await engine.session(session)).fold();
  return importedText(standing.imported);
}

/**
 * Refuses what the call would refuse anyway. A hold on a session that lives elsewhere does not count here.
 */
async function refuseIfHeld(session: Session, isCopy: boolean): Promise<void> {
  const { standing } = await session.fold();
  const [held] = isCopy || standing.status === "moved" ? [] : standing.holds.keys();
  if (held === undefined) return;
  throw new SkeinError("refused", `${session.id} is under legal hold ${quote(held)}`, {
    hint: `lift the hold first: skein hold ${session.id} ${quote(held)} --lift`,
  });
}

function waitingLine({ session, to, count: many, reason }: PendingDelivery): string {
  if (to === "") return `${session} was passed over: ${oneLine(reason)}`;
  const what = `${plural(many, "message")} of ${session} to ${to}`;
  return `${what} ${many === 1 ? "waits" : "wait"}: ${oneLine(reason)}`;
}

/** Two columns of one name would be one field of an object. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
    taken.add(free);
    return free;
  });
}

/** With the number of sessions affected now. */
async function confirmRetain(engine: Engine): Promise<void> {
  const wide = (await engine.policies()).filter(({ everything }) => everything);
  if (wide.length === 0) return;
  const names = new Set(wide.map(({ name }) => name));
  const { done } = await engine.retain({ dryRun: true });
  const concerned = done.filter(({ policy }) => policy !== null && names.has(policy));
  const listed = [...names].map((name) => `"${oneLine(name)}"`).join(", ");
  throw new SkeinError(
    "refused",
    `${listed} match every session; a run would now change ${plural(concerned.length, "session")}`,
    { hint: "add --yes to confirm; --dry-run lists them" },
  );
}

async function byTenant(
  place: string,
  id: string | undefined,
  between: { readonly since?: number; readonly until?: number },
): Promise<CostRow[]> {
  if (id !== undefined) throw invalid("cost: --by tenant: not allowed with an ID", "skein cost --by tenant");
  if ((await locateStore(place)).tenancy === undefined)
    throw new SkeinError(
      "refused",
      `cost: --by tenant: expected a store in PostgreSQL, got ${oneLine(place)}`,
      { hint: "a file has one tenant; use --store postgres://user@host/database" },
    );
  const tenants = await openHere(place);
  try {
    const rows = (await tenants.costs(between)).map(costRow);
    return rows.toSorted((a, b) => b.nanoUsd - a.nanoUsd || b.unpriced - a.unpriced);
  } finally {
    await tenants.close();
  }
}

const groupName = (by: string, { group }: CostRow): string =>
  group === null ? "(none)" : by === "session" ? shortId(group) : oneLine(group);

/** Unconfirmed tokens have a column where a row has any. */
const costCells = (name: string, spend: Spend, isSure: boolean): string[] => [
  name,
  count(spend.calls),
  count(spend.inputTokens),
  count(spend.outputTokens),
  ...(isSure ? [] : [count(spend.unconfirmedTokens)]),
  spendText(spend),
];
