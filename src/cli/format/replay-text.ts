/** A replay in words: its result, and both runs turn by turn. */
import type {
  ReplayCallPair,
  ReplayPair,
  ReplayReport,
  ReplayTotals,
} from "../../core/turn/run-comparison.ts";
import { money } from "./money.ts";
import type { Screen } from "../command/screen.ts";
import { table } from "./table.ts";
import { plain, count, cut, oneLine, plural } from "./text.ts";

/** In one sentence. */
export function replayVerdict({ same, stopped, turns, unrecorded, items }: ReplayReport): string {
  const differ = turns.filter(({ match }) => match !== "same").length;
  const calls = turns.flatMap((turn) => turn.calls).filter(({ match }) => match !== "same").length;
  const found = same
    ? `all the same in ${plural(turns.length, "turn")}`
    : `${differ} of ${plural(turns.length, "answer")}, ${plural(calls, "call")} and ` +
      `${plural(items.length, "item")} differ`;
  const more = unrecorded === 0 ? "" : `; ${plural(unrecorded, "call")} not recorded and not run`;
  const why = stopped === null ? "" : `${stopped.by}${stopped.reason === null ? "" : `: ${stopped.reason}`}`;
  return `${found}${more}${stopped === null ? "" : `; it stopped early (${why})`}`;
}

/** The totals of both. */
export function totalRows({ totals: { original, replay } }: ReplayReport): string[][] {
  const row = (name: string, of: (total: ReplayTotals) => string): string[] => [
    name,
    of(original),
    of(replay),
  ];
  return [
    row("turns", ({ turns }) => count(turns)),
    row("steps", ({ steps }) => count(steps)),
    row("calls", ({ calls }) => count(calls)),
    row("tokens in", ({ inputTokens }) => count(inputTokens)),
    row("tokens out", ({ outputTokens }) => count(outputTokens)),
    row("cost", ({ nanoUsd, unpriced }) =>
      unpriced === 0 ? money(nanoUsd) : `${money(nanoUsd)} and ${plural(unpriced, "call")} unknown`,
    ),
  ];
}

export function replayLines(report: ReplayReport, out: Screen): string[] {
  const { session, from, fork, model, scores, items } = report;
  const verdict = oneLine(replayVerdict(report));
  const columns = [
    { title: "" },
    { title: "ORIGINAL", align: "right" },
    { title: "REPLAY", align: "right" },
  ] as const;
  const score = (value: number | null): string => (value === null ? "-" : String(value));
  const cells = [
    ["model", oneLine(model.original ?? "-"), oneLine(model.replay ?? "-")],
    ...totalRows(report),
    ...scores.map(({ name, original, replay }) => [`score ${oneLine(name)}`, score(original), score(replay)]),
  ];
  const line = (text: string): string =>
    `  ${cut(text, out.columns === null ? Infinity : Math.max(20, out.columns - 2))}`;
  return [
    `replayed ${session} from ${from} in ${fork}`,
    report.same ? out.green(verdict) : out.yellow(verdict),
    "",
    ...table(columns, cells, { width: out.columns, heading: out.bold }),
    ...report.turns.flatMap((pair, place) => ["", ...turnLines(pair, place, out)]),
    ...(items.length === 0 ? [] : ["", out.bold("Items")]),
    ...items.map(({ kind, key, from: was, to: is }) =>
      line(`~ ${kind} ${oneLine(key)} = ${itemText(was)} → ${itemText(is)}`),
    ),
  ];
}

const itemText = (item: { readonly value: unknown; readonly erased: boolean } | null): string =>
  item === null ? "(none)" : item.erased ? "(erased)" : oneLine(plain(item.value));

function turnLines({ match, original, replay, calls }: ReplayPair, place: number, out: Screen): string[] {
  const room = out.columns === null ? Infinity : Math.max(20, out.columns - 4);
  const asked = (original ?? replay)?.inputs.join(" ") ?? "";
  const said = (sign: string, answer: string | undefined): string[] =>
    answer === undefined ? [] : [`  ${sign} ${cut(oneLine(answer) || "(nothing)", room)}`];
  const title = `Turn ${place + 1}`;
  const same = calls.filter((call) => call.match === "same").length;
  const counted = calls.length === 0 ? "" : `, ${same} of ${plural(calls.length, "call")} the same`;
  return [
    `${out.bold(title)}${cut(`: ${match}${counted}  ${oneLine(asked)}`, room + 4 - title.length)}`,
    ...(match === "same"
      ? said("=", original?.answer)
      : [...said("-", original?.answer), ...said("+", replay?.answer)]),
    ...calls.filter((call) => call.match !== "same").map((call) => `  ${cut(callText(call), room)}`),
  ];
}

function callText({ match, tool, original, replay }: ReplayCallPair): string {
  const input = (call: { readonly input: unknown } | null): string => oneLine(plain(call?.input ?? {}));
  const name = oneLine(tool);
  if (match === "different") return `~ ${name} ${input(original)} → ${input(replay)}`;
  return match === "missing" ? `- ${name} ${input(original)}` : `+ ${name} ${input(replay)}`;
}
