/** Accept checks: what came of each. */
import { moneyText } from "../../core/text/money.ts";
import { shortId } from "../../core/text/short-id.ts";
import { plain } from "../command/presentation.ts";
import { ago } from "../format/moment.ts";
import { oneLine } from "../format/text.ts";

const tailLines = 20;

export const checkPlain = [
  plain("session.setChecks", {
    prepare({ params }) {
      params.checks ??= [];
    },
  }),
  plain("session.explore", {
    print(report, { found: { id }, out }) {
      const { alternatives, winner, merged } = report;
      const lines = alternatives.map(
        ({ alternative, session, status, score, nanoUsd, steps, why, objective }) => {
          const mark =
            session === winner ? out.green("wins") : status === "done" ? "done" : out.yellow(status);
          const scored = score === null ? "-" : score.toFixed(2);
          const about = oneLine(why === null ? objective : `${objective}: ${why}`);
          const spent = `${moneyText(nanoUsd)}  ${steps} steps`;
          return [alternative, shortId(session), mark, scored, spent, about].join("  ");
        },
      );
      const failed = alternatives.flatMap(({ session, checks }) =>
        checks
          .filter(({ status }) => status !== "passed")
          .map(
            ({ check, status, reason }) =>
              `  ${shortId(session)} ${check} ${status}: ${oneLine(reason ?? "")}`,
          ),
      );
      const next =
        winner === null
          ? ["no winner: compare them with skein diff, and merge one with skein merge"]
          : merged === null
            ? [`merge it: ${out.command(`merge ${shortId(id)} --from ${shortId(winner)}`)}`]
            : merged.conflicts.length > 0
              ? [`not merged: ${merged.conflicts.join(", ")} conflict`]
              : [`merged into ${shortId(id)}`];
      return {
        json: { session: id, ...report },
        lines: [...lines, ...failed.map((one) => out.dim(one)), ...next],
      };
    },
  }),
  plain("session.check", {
    print({ passed, seq, checks }, { found: { id }, out, nowMs }) {
      const json = { session: id, passed, seq, checks };
      if (checks.length === 0) return { json, lines: [`${shortId(id)} has no accept checks`] };
      const lines = checks.flatMap(({ check, kind, status, reason, text, output, at, ran }) => {
        const paint = status === "passed" ? out.green : status === "waiting" ? out.yellow : out.red;
        const what = reason ?? (status === "waiting" ? text : null);
        const since = ran || at === null ? "" : out.dim(` (${ago(at, nowMs)}; it did not run again)`);
        const line = `${paint(status)} ${check}${what === null ? "" : `: ${oneLine(what)}`}${since}`;
        const tail =
          status === "passed" || output === null ? [] : output.trimEnd().split("\n").slice(-tailLines);
        const way =
          kind === "person" && status === "waiting"
            ? [`  ${out.command(`check ${shortId(id)} --pass ${check}`)}, or --fail ${check} --because …`]
            : [];
        return [line, ...tail.map((one) => out.dim(`  ${oneLine(one)}`)), ...way];
      });
      const old = checks.filter(({ kind, ran, at }) => kind !== "person" && at !== null && !ran);
      const again = `nothing changed since; to run it again: ${out.command(`check ${shortId(id)} --again`)}`;
      return { json, lines, notes: old.length === 0 ? [] : [out.dim(again)], code: passed ? 0 : 1 };
    },
  }),
];
