/** Policies of the workspace: list, show, set, remove. */
import { checkPolicy, checkPolicyName, isForEverything, policyKinds } from "../../core/govern/policy.ts";
import type { Policy } from "../../core/govern/policy.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { statuses } from "../../core/session/lifecycle.ts";
import { pairsOf, present } from "../command/input.ts";
import { grid, invalid, plain } from "../command/presentation.ts";
import { verb } from "../command/verb.ts";
import { readDocument } from "../format/document.ts";
import { ago } from "../format/moment.ts";
import { oneLine, plural } from "../format/text.ts";

export const policyPlain = [
  plain("engine.policies", {
    print: (all, { out, nowMs }) => ({
      lines: grid(
        out,
        ["POLICY", "SET", "WHAT IT DOES"],
        all.map(({ name, policy, at }) => [
          oneLine(name),
          at === null ? "built in" : ago(at, nowMs),
          sentence(policy),
        ]),
      ),
    }),
  }),
  plain("engine.removePolicy", {
    print: (_, { params: { name = "" } }) => ({
      json: { name, removed: true },
      lines: [`removed ${oneLine(name)}`],
    }),
  }),
];

export const policyActions = [
  verb({
    name: "policy show",
    line: "Show a policy.",
    args: ["NAME"],
    options: {},
    examples: [],
    async run({ args: { NAME: name }, out, engine, nowMs }) {
      const found = (await (await engine()).policies()).find((one) => one.name === name);
      if (found === undefined)
        throw new SkeinError("not-found", `there is no policy ${quote(name)}`, {
          hint: '"skein policy" lists the policies',
        });
      const { policy, at, actor, everything } = found;
      await out.answer(found, () => [
        `${oneLine(name)}: ${sentence(policy)}`,
        at === null
          ? "built in; set one of its name to replace it"
          : `set ${ago(at, nowMs)} by ${oneLine(actor ?? "")}`,
        ...(everything ? ["it matches every session"] : []),
      ]);
    },
  }),
  verb({
    name: "policy set",
    line: "Set a policy from options or a file.",
    args: ["NAME", "FILE?"],
    options: {
      do: { type: "text", value: policyKinds.join("|"), what: "the action" },
      after: { type: "text", value: "SPAN", what: "when nothing was written to a session for this time" },
      running: { type: "count", value: "N", what: "of a limit: this many run at once" },
      agent: { type: "text", value: "NAME", what: "only sessions of this agent" },
      model: { type: "text", value: "PROVIDER/MODEL", what: "of a limit: only of this model" },
      label: { type: "list", value: "KEY=VALUE", what: "only sessions with this label" },
      status: { type: "list", value: statuses.join("|"), what: "only sessions of this status" },
      yes: { type: "flag", short: "y", what: "also if it matches every session" },
    },
    examples: [],
    /** Validated before anything is opened, so that a bad one leaves nothing behind. */
    async run({ args: { NAME: name, FILE: file }, options, out, engine }) {
      checkPolicyName(name);
      const { do: what, after, running, agent, model, label, status } = options;
      const match = {
        ...present({ agent, model }),
        ...(label.length === 0 ? {} : { labels: pairsOf("--label", label) }),
        ...(status.length === 0 ? {} : { status }),
      };
      const fields = {
        ...present({ do: what, after, running }),
        ...(Object.keys(match).length === 0 ? {} : { match }),
      };
      if (file !== undefined && Object.keys(fields).length > 0)
        throw invalid("policy: specify a file or options, not both", "remove one of them");
      const wanted =
        file === undefined
          ? checkPolicy(fields, { where: `policy ${quote(name)}` })
          : (await import("../../runtime/workspace/policy-file.ts")).parsePolicy(
              readDocument("policy", file),
              { path: file },
            );
      const opened = await engine({ create: true });
      if (isForEverything(wanted) && !options.yes) {
        const { sessions } = await opened.stats();
        throw new SkeinError(
          "refused",
          `${quote(name)} would in time ${wanted.do} every session; ` +
            `the store has ${plural(sessions, "session")}`,
          { hint: "add --yes to confirm, or match an agent, a label or a status" },
        );
      }
      const entry = await opened.setPolicy(name, wanted, { everything: options.yes });
      await out.answer(entry, () => [`set ${oneLine(name)}: ${sentence(wanted)}`]);
    },
  }),
];

/** In words: `expire after 90d, of agent payroll, with env=test`. */
function sentence(policy: Policy | null): string {
  if (policy === null) return "set by a newer program; not followed here";
  const { do: what, after, running, match = {} } = policy;
  const labels = Object.entries(match.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [
    what === "limit" ? `${running} at once` : `${what}${after === undefined ? "" : ` after ${after}`}`,
    ...(what === "pack" ? ["or before the last compaction"] : []),
    ...(match.agent === undefined ? [] : [`of agent ${match.agent}`]),
    ...(match.model === undefined ? [] : [`of model ${match.model}`]),
    ...(labels.length === 0 ? [] : [`with ${oneLine(labels.join(", "))}`]),
    ...(match.status === undefined ? [] : [`that are ${match.status.join(" or ")}`]),
  ].join(", ");
}
