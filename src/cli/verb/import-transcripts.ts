/** `skein import TOOL [PATH]`: sessions of other tools, found, filtered, previewed and imported. */
import { priceOf } from "../open/model-lookup.ts";
import { setFlagsFromString } from "node:v8";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { shortId } from "../../core/text/short-id.ts";
import { bytes } from "../../core/text/number-format.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import {
  importTranscripts,
  transcriptFormats,
  watchTranscripts,
  type ImportedTranscript,
  type ImportProgress,
  type ImportTranscriptsOptions,
  type TranscriptTarget,
  type WatchTranscriptsOptions,
} from "../../transcripts/transcripts.ts";
import type { Screen } from "../command/screen.ts";
import { table } from "../format/table.ts";
import { count, oneLine, plural } from "../format/text.ts";

/**
 * By default V8 lets the heap grow to several times of what is in use before it looks for garbage. With a
 * fifth, importing a gigabyte takes about 270 MB of memory instead of 330, in the same processor time.
 */
const keepHeapSmall = (): void => setFlagsFromString("--heap-growing-percent=20");

/** The names of the tools whose sessions can be imported, and `auto`. */
export const toolNames = (): string[] => [...transcriptFormats.map(({ name }) => name), "auto"];

/** A dry run takes no engine. */
export async function importFrom(
  engine: Engine | null,
  out: Screen,
  options: Omit<ImportTranscriptsOptions, "price" | "progress">,
): Promise<number | undefined> {
  const results: ImportedTranscript[] = [];
  keepHeapSmall();
  const shownProgress = out.progress();
  try {
    const progress = (now: ImportProgress): void => shownProgress.show(nowLine(now));
    for await (const one of importTranscripts(engine ?? noStore, { ...options, price: priceOf, progress })) {
      results.push(one);
      if (one.status !== "excluded") out.note(progressLine(one, results.length));
    }
  } finally {
    shownProgress.end();
  }
  if (results.length === 0 && options.path !== undefined) throw nothingAt(options.path, options.tool);
  const shown = results.filter(({ status }) => status !== "excluded");
  await out.answer({ sessions: shown.map(plain), excluded: results.length - shown.length }, () => [
    ...table(columns, shown.map(row), { width: out.columns, heading: out.bold }),
    ...totals(results),
  ]);
  return shown.some(({ status }) => status === "failed") ? 1 : undefined;
}

const noStore: TranscriptTarget = {
  importTranscript: () => Promise.reject(new Error("invariant: a dry run imports nothing")),
};

function nothingAt(path: string, tool: string): SkeinError {
  const expected = transcriptFormats
    .filter(({ name }) => tool === "auto" || name === tool)
    .map(({ title, expects }) => `${title}: ${expects}`);
  const of = tool === "auto" ? "any tool" : tool;
  return new SkeinError("not-found", `import: ${quote(path)}: no sessions of ${of} found`, {
    hint: `expected ${expected.join("; ")}`,
  });
}

/** Follows until the signal: one line for each change, then a summary. */
export async function followFrom(
  engine: Engine,
  out: Screen,
  options: Omit<WatchTranscriptsOptions, "price">,
): Promise<undefined> {
  const changed = new Map<string, ImportedTranscript>();
  let entries = 0;
  const ready = (): void => out.note("watching; Ctrl-C ends it");
  for await (const one of watchTranscripts(engine, { ...options, ready, price: priceOf })) {
    changed.set(`${one.found.tool} ${one.found.sourceId}`, one);
    entries += one.added;
    if (out.json) await out.emit(plain(one));
    else await out.line(changeLine(one));
  }
  const summary = { sessions: changed.size, entries };
  if (out.json) await out.emit({ summary });
  else {
    const kinds = totals([...changed.values()]).slice(1);
    await out.line(`${plural(changed.size, "session")} changed, ${entriesText(entries)} added`);
    for (const line of kinds) await out.line(line);
  }
  return undefined;
}

const entriesText = (many: number): string => plural(many, "entry", "entries");

const changeLine = ({ found, status, session, added, plan, reason }: ImportedTranscript): string =>
  [
    status.padEnd(9),
    session === null ? "" : shortId(session),
    found.tool,
    ...(added === 0 ? [] : [`+${entriesText(added)}`]),
    oneLine(reason ?? plan?.header.title ?? found.sourceId),
  ].join("  ");

const columns = [
  { title: "SESSION" },
  { title: "STATUS" },
  { title: "TOOL" },
  { title: "ENTRIES", align: "right" },
  { title: "SIZE", align: "right" },
  { title: "CHANGED" },
  { title: "PROJECT", flexible: true },
  { title: "TITLE" },
] as const;

/** What a tool added to an export names the session that it continues. */
const titleText = ({ found, origin, plan, reason }: ImportedTranscript): string => {
  const title = oneLine(reason ?? plan?.header.title ?? found.sourceId);
  return origin === null || reason !== null ? title : `continues ${shortId(origin)}: ${title}`;
};

function row(result: ImportedTranscript): string[] {
  const { found, status, session, plan } = result;
  return [
    session === null ? "" : shortId(session),
    status,
    found.tool,
    plan === null ? "" : count(plan.entries.length),
    bytes(found.bytes),
    found.modifiedAtMs === 0 ? "" : new Date(found.modifiedAtMs).toISOString().slice(0, 10),
    oneLine(plan?.header.cwd ?? ""),
    titleText(result),
  ];
}

const nowLine = ({ found, number, of, bytes: read, entries }: ImportProgress): string =>
  `${number} of ${of}: ${found.tool} ${oneLine(found.sourceId)}: ` +
  (entries === 0 ? `read ${bytes(read)} of ${bytes(found.bytes)}` : `${count(entries)} entries imported`);

const progressLine = ({ found, status, reason }: ImportedTranscript, number: number): string =>
  `${number}: ${found.tool} ${oneLine(found.sourceId)}: ${status}` +
  (reason === null ? "" : `: ${oneLine(reason)}`);

const plain = ({
  found,
  status,
  session,
  origin,
  branches,
  added,
  redactions,
  plan,
  reason,
}: ImportedTranscript) => ({
  session,
  status,
  origin,
  reason,
  tool: found.tool,
  sourceId: found.sourceId,
  file: found.files[0] ?? null,
  bytes: found.bytes,
  modifiedAt: found.modifiedAtMs,
  entries: plan?.entries.length ?? 0,
  added,
  branches,
  title: plan?.header.title ?? null,
  cwd: plan?.header.cwd ?? null,
  redactions,
  report: plan?.report ?? null,
});

/** Nothing is hidden: what a filter left out and what could not be read is counted. */
function totals(results: readonly ImportedTranscript[]): string[] {
  const many = (status: ImportedTranscript["status"]): number =>
    results.filter((one) => one.status === status).length;
  const words = (
    ["new", "grown", "same", "found", "rewritten", "continued", "exported", "failed", "excluded"] as const
  )
    .flatMap((status) => (many(status) === 0 ? [] : [`${count(many(status))} ${status}`]))
    .join(", ");
  const sum = (pick: (one: ImportedTranscript) => number): number =>
    results.reduce((all, one) => all + pick(one), 0);
  const unknown = sum(({ plan }) => total(plan?.report.unknownTypes));
  const tooLarge = sum(({ plan }) => plan?.report.tooLarge ?? 0);
  const damaged = sum(({ plan }) => plan?.report.damagedCount ?? 0) - tooLarge;
  const unread = [
    ...(unknown === 0 ? [] : [`${plural(unknown, "record")} of unknown kinds`]),
    ...(damaged === 0 ? [] : [plural(damaged, "damaged record")]),
    ...(tooLarge === 0 ? [] : [`${plural(tooLarge, "record")} too large`]),
  ];
  return [
    `${plural(results.length, "session")}: ${words || "none found"}`,
    ...secretLines(results),
    ...excludedLines(results),
    ...(unread.length === 0 ? [] : [`kept with the original, and not shown: ${unread.join(", ")}`]),
    ...(many("new") === 0
      ? []
      : ["imported sessions are suspended; to continue one: skein activate ID, then skein chat ID"]),
    ...(many("exported") === 0 ? [] : ["exported: Skein wrote these files itself; they are not imported"]),
    ...(many("rewritten") + many("continued") === 0
      ? []
      : ["rewritten or continued sessions were left as they are; --again imports them as new ones"]),
  ];
}

/** A filter leaves out what it was given for; other reasons are counted. */
function excludedLines(results: readonly ImportedTranscript[]): string[] {
  const reasons = new Map<string, number>();
  for (const { status, reason } of results)
    if (status === "excluded" && reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return [...reasons].map(([reason, many]) => `${plural(many, "excluded session")}: ${reason}`);
}

/** By kind. The byte ranges are in the answer for programs, and with the session. */
function secretLines(results: readonly ImportedTranscript[]): string[] {
  const kinds = new Map<string, number>();
  for (const { redactions } of results)
    for (const [kind, many] of Object.entries(redactions?.kinds ?? {}))
      kinds.set(kind, (kinds.get(kind) ?? 0) + many);
  const many = [...kinds.values()].reduce((all, one) => all + one, 0);
  const words = [...kinds].map(([kind, one]) => `${count(one)} ${oneLine(kind)}`).join(", ");
  return many === 0 ? [] : [`redacted ${plural(many, "secret")}: ${words}; where: --json`];
}

const total = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((all, one) => all + one, 0);
