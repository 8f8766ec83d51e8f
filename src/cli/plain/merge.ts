/** Merges what another session learned. */
import type { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { MergeAnswer } from "../../runtime/branch/merge-answer.ts";
import type { MergeConflict, MergeReport, MergeSide } from "../../runtime/branch/merge.ts";
import { present, valueOf } from "../command/input.ts";
import { exact } from "../format/moment.ts";
import { invalid, plain } from "../command/presentation.ts";
import { placeOf } from "../command/position.ts";
import { possibleText } from "../format/possible-conflict.ts";
import type { Screen } from "../command/screen.ts";
import { plain as plainText, cut, oneLine, plural } from "../format/text.ts";

const takes = ["ours", "theirs", "both"] as const;

export const mergePlain = plain("session.merge", {
  options: {
    resolve: { type: "list", value: "KIND/KEY=ours|theirs|both", what: "the resolution of a conflict" },
    value: { type: "list", value: "KIND/KEY=VALUE", what: "a new value for a conflict" },
    because: { type: "text", what: "the reason; the log keeps it" },
  },
  prepare({ params, given: { resolve, value, because } }) {
    params.resolve = answersOf(resolve, value, because);
  },
  async call({ found, params, session, out }) {
    const from = await placeOf("merge", params.from ?? "", undefined, { session, out });
    return found.merge({
      ...params,
      from: from.session.id,
      ...(from.seq === null ? {} : { toSeq: from.seq }),
    });
  },
  print: (report, { found: { id }, params: { dryRun: isDry = false }, out }) => ({
    json: { session: id, ...report },
    lines: lines(report, { id, isDry }, out),
    code: report.ok ? 0 : 1,
  }),
});

function answersOf(
  resolve: readonly string[],
  values: readonly string[],
  because: string | undefined,
): Record<string, MergeAnswer> {
  const answers: [string, MergeAnswer][] = [];
  const reason = present({ because });
  for (const word of resolve) {
    // A key may contain an equals sign; the choice never does.
    const mark = word.lastIndexOf("=");
    const take = takes.find((one) => one === word.slice(mark + 1));
    if (mark < 1 || take === undefined)
      throw unclear("resolve", word, "fact/base-rate=ours, =theirs or =both");
    answers.push([word.slice(0, mark), { take, ...reason }]);
  }
  for (const word of values) {
    const mark = word.indexOf("=");
    if (mark < 1) throw unclear("value", word, "fact/base-rate=4.2");
    answers.push([
      word.slice(0, mark),
      { value: valueOf(word.slice(mark + 1), { asText: false }), ...reason },
    ]);
  }
  const names = answers.map(([name]) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice === undefined) return Object.fromEntries(answers);
  throw invalid(`merge: ${quote(twice)} is resolved twice`, "remove one of them");
}

const unclear = (option: string, word: string, example: string): SkeinError =>
  invalid(
    `merge: --${option}: expected KIND/KEY=VALUE, got ${quote(word)}`,
    `for example --${option} ${example}`,
  );

function lines(
  report: MergeReport,
  { id, isDry }: { readonly id: string; readonly isDry: boolean },
  out: Screen,
): string[] {
  const { from, range, taken, same, left, conflicts, resolved, written, possible = [] } = report;
  if (range === null) return [`nothing of ${from} is new to ${id}; nothing was written`];
  const place = `${from}@${range.fromSeq}-${range.toSeq}`;
  const head =
    written !== null
      ? `merged ${place} at ${written} of ${id}`
      : isDry && report.ok
        ? `${place} can be merged into ${id}; nothing was written`
        : `${place} was not merged into ${id}: ${plural(conflicts.length, "conflict")}`;
  const room = out.columns === null ? Infinity : Math.max(20, out.columns - 2);
  const row = (text: string): string => `  ${cut(text, room)}`;
  return [
    head,
    ...taken.map((write) => row(takenText(write))),
    ...same.map((name) => out.dim(row(`= ${oneLine(name)}, the same on both sides`))),
    ...left.map((name) => row(`! ${oneLine(name)} was erased over there, and is left`)),
    ...resolved.map(({ name, resolution }) => row(`* ${oneLine(name)}: ${resolution.take}`)),
    ...possible.map((one) => row(`? ${possibleText(one)}`)),
    ...conflicts.flatMap((conflict) => ["", ...conflictLines(conflict, out)]),
    ...(conflicts.length === 0 ? [] : ["", ...wayOn(id, from, conflicts)]),
  ];
}

/** With the signs of `skein diff`: `~` for an item that this session knew with another value. */
function takenText(write: MergeReport["taken"][number]): string {
  const name = `${write.kind} ${oneLine(write.key)}`;
  if (write.write === "retract") return `- ${name}`;
  const text = `${name}${statusOf(write)} =`;
  const value = oneLine(plainText(write.value));
  return "was" in write ? `~ ${text} ${oneLine(plainText(write.was))} → ${value}` : `+ ${text} ${value}`;
}

/** For a task. */
const statusOf = ({ status }: { readonly status?: string | null }): string =>
  status === undefined || status === null ? "" : ` (${status})`;

function conflictLines({ name, base, ours, theirs }: MergeConflict, out: Screen): string[] {
  const room = out.columns === null ? Infinity : Math.max(20, out.columns - 10);
  const row = (title: string, side: MergeSide | null): string =>
    `  ${title.padEnd(8)}${cut(side === null ? "(there was none)" : sideText(side), room)}`;
  return [
    out.bold(`conflict  ${oneLine(name)}`),
    row("base", base),
    row("ours", ours),
    row("theirs", theirs),
  ];
}

function sideText({ value, status, gone, actor, at, because }: MergeSide): string {
  const what = gone === null ? oneLine(plainText(value)) : `(${gone})`;
  const state = status === null ? "" : ` (${status})`;
  const reason = because === null ? "" : `, because ${oneLine(because)}`;
  const who = actor === null ? "" : `  by ${oneLine(actor)}`;
  return `${what}${state}${reason}${who}${at === null ? "" : `, ${exact(at)}`}`;
}

function wayOn(id: string, from: string, conflicts: readonly MergeConflict[]): string[] {
  const names = conflicts.map(({ name }) => `--resolve ${shellWord(name)}=ours`).join(" ");
  return [
    "Nothing was changed. Resolve each with ours, theirs or both:",
    `  skein merge ${id} ${from} ${names}`,
  ];
}

const shellWord = (name: string): string =>
  /^[\w./:-]+$/.test(name) ? name : `'${oneLine(name).replaceAll("'", String.raw`'\''`)}'`;
