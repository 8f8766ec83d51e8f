/**
 * A replay as one self-contained HTML file: both runs side by side, turn by turn. Everything that comes from
 * a log is escaped, and the page's own policy forbids the rest.
 */
import type { ReplayCall, ReplayPair, ReplayReport, ReplayTurn } from "../../core/turn/run-comparison.ts";
import { money } from "./money.ts";
import { replayVerdict, totalRows } from "./replay-text.ts";
import { escaped, policy } from "./transcript-html.ts";
import { count, plural } from "./text.ts";

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { font-size: 1.1rem; margin: 1.5rem 0 0.5rem; } header p, .small { color: #555; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; } td, th { border: 1px solid #ddd;
padding: 0.4rem 0.6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; } code { white-space: pre-wrap; font-size: 0.85rem; }
.same { color: #161; } .different, .added, .missing { color: #a11; } .none { color: #999; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #ddd; }
td, th { border-color: #444; } header p, .small { color: #999; }
.same { color: #6c6; } .different, .added, .missing { color: #f77; } }
`;

export function replayHtml(report: ReplayReport): string {
  const { session, from, fork, turns, items, scores, model, instructions } = report;
  const title = `Replay of ${session} from ${from}`;
  return [
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<title>${escaped(title)}</title>\n<style>${style}</style>\n</head>\n<body>`,
    `<header><h1>${escaped(title)}</h1><p>Run again in ${escaped(fork)}.</p>`,
    `<p class="${report.same ? "same" : "different"}">${escaped(replayVerdict(report))}</p></header>\n<main>`,
    rows(
      ["", "original", "replay"],
      [["model", model.original ?? "", model.replay ?? ""], ...totalRows(report)],
    ),
    ...(instructions === null
      ? []
      : [`<h2>Instructions of the replay</h2>\n<div class="text">${escaped(instructions)}</div>`]),
    ...turns.map(turnHtml),
    `<h2>What they know at the end</h2>`,
    items.length === 0
      ? "<p>The same.</p>"
      : rows(
          ["item", "original", "replay"],
          items.map(({ kind, key, from: was, to: is }) => [`${kind} ${key}`, valueOf(was), valueOf(is)]),
        ),
    ...(scores.length === 0 ? [] : ["<h2>Scores</h2>", scoreRows(report)]),
    "</main>\n</body>\n</html>\n",
  ].join("\n");
}

const valueOf = (item: { readonly value: unknown; readonly erased: boolean } | null): string =>
  item === null ? "(none)" : item.erased ? "(erased)" : jsonOf(item.value);

const jsonOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const scoreRows = ({ scores }: ReplayReport): string =>
  rows(
    ["score", "original", "replay"],
    scores.map(({ name, original, replay }) => [name, String(original ?? ""), String(replay ?? "")]),
  );

function rows(titles: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (tag: "td" | "th", cells: readonly string[]): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  return `<table>${line("th", titles)}\n${lines.map((cells) => line("td", cells)).join("\n")}</table>`;
}

function turnHtml({ match, original, replay, calls }: ReplayPair, place: number): string {
  const asked = (original ?? replay)?.inputs.join("\n\n") ?? "";
  const side = (turn: ReplayTurn | null): string =>
    turn === null ? `<td class="none">not run</td>` : `<td>${sideHtml(turn)}</td>`;
  const called = calls.map(
    ({ match: how, tool, original: was, replay: is }) =>
      `<tr class="${how}"><td>${callHtml(tool, was)}</td><td>${how}: ${callHtml(tool, is)}</td></tr>`,
  );
  return [
    `<section><h2>Turn ${place + 1}: <span class="${match}">${match}</span></h2>`,
    `<div class="text">${escaped(asked)}</div>`,
    `<table><tr><th>original</th><th>replay</th></tr>`,
    `<tr>${side(original)}${side(replay)}</tr>`,
    ...called,
    "</table></section>",
  ].join("\n");
}

function sideHtml(turn: ReplayTurn): string {
  const { answer, outcome, steps, inputTokens, outputTokens, nanoUsd, unpriced, startedSeq } = turn;
  const cost = unpriced === 0 ? money(nanoUsd) : "cost unknown";
  const facts = [
    `at ${startedSeq}`,
    outcome ?? "not ended",
    plural(steps, "step"),
    `${count(inputTokens)} + ${count(outputTokens)} tokens`,
    cost,
  ];
  return `<div class="text">${escaped(answer)}</div><div class="small">${escaped(facts.join(" · "))}</div>`;
}

const callHtml = (tool: string, call: ReplayCall | null): string =>
  call === null
    ? ""
    : `<code>${escaped(`${tool} ${jsonOf(call.input)}`)}</code> ${escaped(call.status ?? "open")}`;
