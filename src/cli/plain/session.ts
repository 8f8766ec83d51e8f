/** Verbs that change the standing of a session. */
import { budgetLeft } from "../../core/budget/budget.ts";
import { spendOf, spendText, type Spend } from "../../core/budget/money.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { resources, type Amounts, type UsedAmounts } from "../../core/state.ts";
import { roughly } from "../../core/text/utc.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { present } from "../command/input.ts";
import { changeOf } from "../command/change-verb.ts";
import { grid, invalid, plain, type PresentedResult } from "../command/presentation.ts";
import type { Screen } from "../command/screen.ts";
import { checkServer, missingPaths } from "../format/binding-word.ts";
import { money, tokensText } from "../format/money.ts";
import { ruleText } from "../format/state-lines.ts";
import { count, oneLine, plural } from "../format/text.ts";

export const sessionPlain = [
  plain("session.label", {
    prepare({ params: { set = {}, remove } }) {
      if (Object.keys(set).length > 0 || remove !== undefined) return;
      throw invalid("label: KEY=VALUE is required", "usage: skein label ID KEY=VALUE... or --remove KEY");
    },
  }),
  plain("session.scratch", {
    options: { remove: { type: "flag", what: "remove the key" } },
    readsInput: ({ given }) => !given.remove,
    prepare({ params, given, args }) {
      if (given.remove && args["VALUE"] !== undefined)
        throw invalid("scratch: --remove: not allowed with VALUE", "omit VALUE or --remove");
      if (given.remove) delete params.value;
    },
    done: ({ given }) => (given.remove ? "removed" : "set"),
  }),
  plain("session.input", {
    prepare({ params }) {
      if (params.input !== "") return;
      throw invalid(
        "input: TEXT is missing or empty",
        'usage: skein input ID TEXT; "skein ps" lists sessions, "skein open" opens one',
      );
    },
    done: ({ params }) => (params.mode === "steer" ? "steered" : "queued"),
  }),
  plain("session.bind", {
    prepare({ params }) {
      checkServer(params as Parameters<typeof checkServer>[0]);
    },
    print(written, { found: { id }, params, out }) {
      const notes = missingPaths([params as Parameters<typeof checkServer>[0]]).map((note) => out.dim(note));
      return { ...changeOf(id, written, "bound"), notes };
    },
  }),
  plain("session.grant", {
    done: ({ params: { rule = "none", tool = "", ...rest } }) =>
      rule === "none" ? "rule removed" : ruleText({ ...rest, tool, rule }),
  }),
  plain("session.cancel", {
    print(done, { found, out }) {
      const { cancelled, seq, headSeq, duplicate } = done;
      const json = { session: found.id, seq, headSeq, duplicate, ...present({ cancelled }) };
      const lines = cancelled?.map((id) => `cancelled ${id}`) ?? [`cancelled at ${seq} of ${found.id}`];
      return { json, lines: duplicate ? [out.dim("cancelled before")] : lines };
    },
  }),
  plain("session.sleep", {
    options: { for: { type: "span", value: "SPAN", what: "wake it after this time, such as 2h" } },
    prepare({ params, given, nowMs }) {
      if (params.untilMs !== undefined && given.for !== undefined)
        throw invalid("sleep: specify --until or --for, not both", "remove one of them");
      if (params.untilMs !== undefined && params.untilMs <= nowMs)
        throw invalid("sleep: --until is in the past", "use a later time, or a duration with --for");
      if (given.for !== undefined) params.untilMs = nowMs + given.for;
    },
  }),
  plain("session.hold", {
    options: {
      lift: { type: "flag", what: "lift it again; NAME can be left out when there is only one hold" },
    },
    async call({ params, given, found }) {
      const { reason } = params;
      params.name ??= given.lift ? await onlyHold(found) : "hold";
      return found[given.lift ? "lift" : "hold"](params.name, present({ reason }));
    },
    done: ({ params, given }) =>
      `${given.lift ? "lifted" : "set"} the hold ${oneLine(quote(params.name ?? ""))}`,
  }),
  plain("session.budget", {
    options: { unlimited: { type: "flag", what: "no limits" } },
    prepare({ params: { limits, reason }, given }) {
      if (limits !== undefined && given.unlimited)
        throw invalid("budget: specify limits or --unlimited, not both", "remove one of them");
      if (limits === undefined && !given.unlimited && reason !== undefined)
        throw invalid("budget: --reason requires limits", "for example: skein budget ID --usd 2 --steps 40");
    },
    async call({ params: { limits, reason }, given, found }) {
      if (limits === undefined && !given.unlimited) return null;
      return found.budget(limits ?? {}, present({ reason }));
    },
    async print(written, { found, out }) {
      if (written === null) return showBudget(found, out);
      const { seq, headSeq, duplicate } = written;
      const { limits: now } = (await found.fold()).standing;
      const left = resources.flatMap((one) =>
        now[one] === undefined ? [] : [`${names[one]} ${amount(one, now[one])}`],
      );
      const text = left.length === 0 ? "no limits" : left.join(", ");
      const json = { session: found.id, seq, headSeq, duplicate, limits: now };
      return { json, lines: [`budget set at ${seq} of ${found.id}: ${text}`] };
    },
  }),
];

async function onlyHold(session: Session): Promise<string> {
  const names = [...(await session.fold()).standing.holds.keys()];
  const [first, second] = names;
  if (first !== undefined && second === undefined) return first;
  if (first === undefined)
    throw new SkeinError("not-found", `${session.id} has no hold`, { hint: "it can be erased and deleted" });
  throw invalid(
    `${session.id} has ${names.length} holds`,
    `name the one to lift: ${names.slice(0, 10).map(quote).join(", ")}`,
  );
}

const names: Readonly<Record<keyof UsedAmounts, string>> = {
  nanoUsd: "money",
  tokens: "tokens",
  steps: "steps",
  turns: "turns",
  toolCalls: "tool calls",
  wallMs: "active time",
};

async function showBudget(session: Session, out: Screen): Promise<PresentedResult> {
  const state = await session.fold();
  const { limits, used, allotted, reserved, unpriced } = state.standing;
  const left = budgetLeft(state);
  const held: Amounts = reserved?.amounts ?? {};
  const cost = spendOf(state);
  const rows = resources.map((resource) => [
    names[resource],
    usedText(resource, used[resource], cost),
    limits[resource] === undefined ? "unlimited" : amount(resource, limits[resource]),
    left[resource] === undefined ? "" : amount(resource, left[resource]),
  ]);
  return {
    json: { session: session.id, limits, used, left, allotted, reserved: held, unpriced, cost },
    lines: [
      ...grid(out, ["", ">USED", ">LIMIT", ">LEFT"], rows),
      ...(unpriced === 0 ? [] : [`${plural(unpriced, "call")} of an unknown price on top`]),
      ...(cost.unconfirmedTokens === 0
        ? []
        : ["unconfirmed: reserved by model calls not settled yet; the budget counts both"]),
    ],
  };
}

/** `$0.015 + up to $0.17 unconfirmed`: the same words as every other surface. */
function usedText(resource: keyof UsedAmounts, value: number, cost: Spend): string {
  const { nanoUsd, unconfirmedNanoUsd } = cost;
  if (resource === "nanoUsd") return spendText({ nanoUsd, unconfirmedNanoUsd, unpriced: 0 });
  return resource === "tokens" ? tokensText(cost) : amount(resource, value);
}

function amount(resource: keyof UsedAmounts, value: number): string {
  if (resource === "nanoUsd") return money(value);
  return resource === "wallMs" ? roughly(value) : count(value);
}
