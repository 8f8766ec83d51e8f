/** Accept checks: what came of each. */
import { shortId } from "../../core/text/short-id.ts";
import { plain } from "../command/presentation.ts";
import { oneLine } from "../format/text.ts";

const tailLines = 20;

export const checkPlain = [
  plain("session.setChecks", {
    prepare({ params }) {
      params.checks ??= [];
    },
  }),
  plain("session.check", {
    print({ passed, seq, checks }, { found: { id }, out }) {
      const json = { session: id, passed, seq, checks };
      if (checks.length === 0) return { json, lines: [`${shortId(id)} has no accept checks`] };
      const lines = checks.flatMap(({ check, kind, status, reason, text, output }) => {
        const paint = status === "passed" ? out.green : status === "waiting" ? out.yellow : out.red;
        const what = reason ?? (status === "waiting" ? text : null);
        const line = `${paint(status)} ${check}${what === null ? "" : `: ${oneLine(what)}`}`;
        const told =
          status === "passed" || output === null ? [] : output.trimEnd().split("\n").slice(-tailLines);
        const way =
          kind === "person" && status === "waiting"
            ? [`  ${out.command(`check ${shortId(id)} --pass ${check}`)}, or --fail ${check} --because …`]
            : [];
        return [line, ...told.map((one) => out.dim(`  ${oneLine(one)}`)), ...way];
      });
      return { json, lines, code: passed ? 0 : 1 };
    },
  }),
];
