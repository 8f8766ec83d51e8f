/** The approval queue of memory: pending, approve, reject. */
import { doubtText } from "../../core/text/doubt-text.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { PendingMemory } from "../../runtime/workspace/memory-queue.ts";
import type { MemoryEntry } from "../../runtime/workspace/memory.ts";
import type { ReviewedMemory } from "../../runtime/workspace/memory-review.ts";
import { plain } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { ago } from "../format/moment.ts";
import { cut, oneLine, plural } from "../format/text.ts";
import { doneText, valueText } from "./memory.ts";

export const memoryQueuePlain = [
  plain("engine.pendingMemory", {
    print(page, { out, nowMs }) {
      const { proposals, total, full, after } = page;
      const notes = [
        ...(total === 0 ? ["nothing waits for approval"] : []),
        ...(full ? ["the queue is full: nothing more is proposed until some are decided"] : []),
        ...(after === null ? [] : [`${plural(total, "entry", "entries")} in all; more: --after ${after}`]),
      ];
      return { json: page, lines: proposals.flatMap((one) => pendingLines(one, out, nowMs)), notes };
    },
  }),
  plain("engine.reviewMemory", {
    print(review, { out }) {
      const { findings, more } = review;
      const notes = [
        ...(findings.length === 0 ? ["nothing says the same twice, and nothing contradicts"] : []),
        ...(findings.length === 0
          ? []
          : ['settle one with "skein memory forget" or "skein memory remember"']),
        ...(more === 0 ? [] : [`${plural(more, "further finding")}: settle some of these first`]),
      ];
      return { json: review, lines: findings.flatMap((one) => findingLines(one, out)), notes };
    },
  }),
  plain("engine.consolidateMemory", {
    print(report, { out, params }) {
      const { applied, forgotten, disputed, more, everyMs } = report;
      const isNothing = forgotten.length === 0 && disputed.length === 0;
      const notes = [
        ...(isNothing ? ["nothing to consolidate"] : []),
        ...(isNothing || applied ? [] : ["nothing was changed; --apply does it"]),
        ...(more === 0 ? [] : [`${plural(more, "further change")} in the next run`]),
        ...(params.everyMs === undefined && everyMs === null
          ? []
          : [
              everyMs === null
                ? "workers do not consolidate"
                : `workers do it every ${everyMs / 3_600_000} h`,
            ]),
      ];
      const lines = [
        ...forgotten.map(({ why, entry, into }) => {
          const done = why === "duplicate" ? "merge" : "expire";
          return `${out.bold(done)}  ${rowOf(entry)}\n    into ${rowOf(into)}`;
        }),
        ...disputed.flatMap(({ about, entries }) => [
          `${out.bold("mark")}  ${oneLine(about)}: for a person to settle`,
          ...entries.map((one) => `    ${rowOf(one)}`),
        ]),
      ];
      return { json: report, lines: lines.flatMap((one) => one.split("\n")), notes };
    },
  }),
  plain("engine.approveMemory", { print: (one) => ({ lines: [doneText(one, "remembered")] }) }),
  plain("engine.rejectMemory", {
    print: (one) => ({ lines: [`${doneText(one, "rejected")}; it is not proposed again`] }),
  }),
];

function findingLines({ finding, about, entries }: ReviewedMemory, { bold }: Screen): string[] {
  const rows = entries.map((one) => `    ${rowOf(one)}`);
  return [`${bold(finding)}  ${oneLine(about)}`, ...rows];
}

type Row = Pick<MemoryEntry, "scope" | "owner" | "kind" | "key" | "origin" | "value">;

function rowOf({ scope, owner, kind, key, origin, value }: Row): string {
  const whose = owner === null ? `the ${scope}` : `${scope} ${owner}`;
  const from = origin === null ? "" : `, from ${shortId(origin.session)}@${origin.seq}`;
  const text = cut(oneLine(typeof value === "string" ? value : JSON.stringify(value)), shownColumns);
  return `${kind} ${oneLine(key)} of ${oneLine(whose)}${from}: ${text}`;
}

/** The most of a value that is shown; `--json` has all. */
const shownColumns = 400;

function pendingLines(one: PendingMemory, { bold, dim }: Screen, nowMs: number): string[] {
  const { seq, kind, key, scope, owner, origin, pending, because, replaces, at } = one;
  const whose = owner === null ? `the ${scope}` : `${scope} ${owner}`;
  const place = (position: number | undefined): string =>
    origin === null || position === undefined ? "" : ` (${shortId(origin.session)}@${position})`;
  const fields = {
    for: whose,
    value: valueText(one),
    ...(because === null ? {} : { because }),
    ...(replaces === null ? {} : { replaces: valueText(replaces) }),
    from: origin === null ? "no session" : `${origin.session}@${origin.seq}, ${ago(at, nowMs)}`,
    "may be": `${doubtText(pending)}${place(pending.seq)}`,
  };
  return [
    `${bold(String(seq))}  ${kind} ${bold(oneLine(key))}`,
    ...Object.entries(fields).map(
      ([field, text]) => `    ${dim(field.padEnd(9))}${cut(oneLine(text), shownColumns)}`,
    ),
  ];
}
