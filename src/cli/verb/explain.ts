/** Explains a context: why each part is there, and its share of the context window. */
import type { RenderedContext } from "../../runtime/context/context-view.ts";
import { lackedText } from "../../core/text/lacked-text.ts";
import { contextText } from "../format/state-lines.ts";
import { zoneReasonsOf } from "./show.ts";
import { partName, partText } from "../format/part-text.ts";
import { placeOf } from "../command/position.ts";
import type { Screen } from "../command/screen.ts";
import { table } from "../format/table.ts";
import { count, oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const explain = verb({
  name: "explain",
  line: "Explain a context: every part with its reason, its tokens and its share of the context window.",
  args: ["ID"],
  options: { at: { type: "place", value: "SEQ|NAME|TIME", what: "at this position; the same as ID@SEQ" } },
  about: [
    "At the position of a request it also says whether the context, rebuilt from the log, equals " +
      'the one that was sent, byte for byte; "skein log ID --type model.requested" lists those ' +
      "positions. Tokens are counted here; the provider's own count can differ a little.",
  ],
  examples: [
    "skein explain 4x8kz1@12  # what was sent at 12, and why",
    "skein explain 4x8kz1  # what would be sent next",
    "skein explain 4x8kz1@12 --json | jq .matches  # whether it is what was sent",
  ],
  async run({ args, options, out, session }) {
    const { session: found, seq } = await placeOf("explain", args.ID, options.at, { session, out });
    const rendered = await found.context(seq === null ? {} : { atSeq: seq });
    const { parts, reasons, windowTokens, ...rest } = rendered;
    const explained = reasons.map(({ tokens, ...reason }, place) => {
      const part = parts[place];
      const share = windowTokens === null ? null : tokens / windowTokens;
      return { part: part === undefined ? "" : partName(part), ...reason, tokens, share };
    });
    const { zone, zoneCauses, zoneActions } = await found.state(seq === null ? {} : { atSeq: seq });
    const answer = { session: found.id, ...rest, zone, zoneCauses, zoneActions, windowTokens };
    // The record of the crossing has the figures; of an earlier position only the names are shown.
    const why = seq === null ? await zoneReasonsOf(found) : zoneCauses;
    await out.answer({ ...answer, parts: explained }, () =>
      lines(rendered, { id: found.id, zone: contextText({ zone, zoneActions }, why), out }),
    );
    // A context that cannot be rebuilt as it was sent is a finding, like one of verify.
    return rendered.matches === false ? 1 : 0;
  },
});

function lines(
  rendered: RenderedContext,
  { id, zone, out }: { readonly id: string; readonly zone: string; readonly out: Screen },
): string[] {
  const { parts, reasons, digest, renderer, model, requestSeq, matches, tokens, windowTokens } = rendered;
  const row = (name: string, text: string): string => `${out.dim(name.padEnd(12))}${text}`;
  const share = (part: number): string =>
    windowTokens === null ? "" : `${((part / windowTokens) * 100).toFixed(1)}%`;
  const verdict =
    matches === null ? "" : matches ? out.green("  as it was sent") : out.red("  NOT as it was sent");
  const window = windowTokens === null ? "a window that is not known here" : count(windowTokens);
  const columns = [
    { title: "PART" },
    { title: "TOKENS", align: "right" },
    { title: "SHARE", align: "right" },
    { title: "FROM", align: "right" },
    { title: "WHY", flexible: true },
    { title: "WHAT" },
  ] as const;
  const rows = parts.map((part, place) => {
    const { why = "", fromSeq = 0, toSeq = 0, tokens: size = 0 } = reasons[place] ?? {};
    const from = fromSeq === 0 ? "" : fromSeq === toSeq ? String(fromSeq) : `${fromSeq}-${toSeq}`;
    return [
      partName(part),
      count(size),
      share(size),
      from,
      oneLine(why),
      oneLine(partText(part).slice(0, 300)),
    ];
  });
  return [
    row("session", id),
    row("context", requestSeq === null ? "what would be sent next" : `what was sent at ${requestSeq}`),
    row("model", oneLine(model)),
    row("digest", `${digest}${verdict}`),
    row("renderer", String(renderer)),
    row("tokens", `${count(tokens)} of ${window}${windowTokens === null ? "" : ` (${share(tokens)})`}`),
    row("zone", zone),
    ...countedRow(rendered).map((text) => row("counted", text)),
    "",
    ...table(columns, rows, { width: out.columns, heading: out.bold }),
    ...tierLines(rendered, out),
    ...broughtLines(rendered),
  ];
}

/** Each tier with its share, what flowed in, and what it leaves out. */
function tierLines({ tiers }: RenderedContext, out: Screen): string[] {
  if (tiers.every(({ shareTokens }) => shareTokens === null)) return [];
  const columns = [
    { title: "TIER" },
    { title: "USED", align: "right" },
    { title: "SHARE", align: "right" },
    { title: "FLOWED IN", align: "right" },
    { title: "LEFT OUT", flexible: true },
  ] as const;
  const number = (tokens: number | null): string => (tokens === null ? "" : count(tokens));
  const rows = tiers.map(({ tier, usedTokens, shareTokens, flowedTokens, leftOut }) => [
    tier,
    number(usedTokens),
    number(shareTokens),
    number(flowedTokens),
    oneLine(leftOut.map(({ name, why }) => `${name} (${why})`).join("; ")),
  ]);
  return ["", ...table(columns, rows, { width: out.columns, heading: out.bold })];
}

/** What retrieval brought in, with its score. */
function broughtLines({ reasons }: RenderedContext): string[] {
  const brought = reasons.flatMap((reason) => reason.brought ?? []);
  const lacked = new Set(reasons.flatMap((reason) => reason.lacked ?? []));
  const notes = [...lacked].flatMap((note) => ["", `retrieval: ${oneLine(lackedText(note))}`]);
  if (brought.length === 0) return notes;
  const lines = brought.map(({ kind, seq, range, number, score, why }) => {
    const chars = range === undefined ? "" : ` characters ${range[0]}-${range[1]}`;
    const entry = number === undefined ? "" : ` entry ${number}`;
    return `  ${kind} ${seq}${chars}${entry}: score ${score.toFixed(2)}, by ${oneLine(why)}`;
  });
  return ["", "brought in for an input, since the context did not show it:", ...lines, ...notes];
}

/** The provider's count, and the error of the estimate before the request. */
function countedRow({ countedTokens, estimateError }: RenderedContext): string[] {
  if (countedTokens === null) return [];
  const off = estimateError === null ? "" : `; the estimate was off by ${(estimateError * 100).toFixed(1)} %`;
  return [`${count(countedTokens)} by the provider${off}`];
}
