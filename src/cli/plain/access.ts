/** Tokens, webhooks and saved approvals of the workspace. */
import { SkeinError } from "../../core/error.ts";
import { shortId } from "../../core/text/short-id.ts";
import { roughly } from "../../core/text/utc.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { hookCalled, type HookEntry } from "../../runtime/workspace/webhooks.ts";
import type { HookBacklog } from "../../server/outbound/webhooks-out.ts";
import { callLines } from "../chat/question.ts";
import { grid, invalid, plain } from "../command/presentation.ts";
import { verb } from "../command/verb.ts";
import { ago, exact } from "../format/moment.ts";
import { oneLine } from "../format/text.ts";

const tokens = [
  plain("engine.tokens", {
    print: (all, { out, nowMs }) => ({
      lines:
        all.length === 0
          ? []
          : grid(
              out,
              ["TOKEN", "NAME", "SCOPES", "~ISSUED", "HOLDS"],
              all.map(({ id, name, scopes, requestsPerSecond, issuedAt, expiresAt, status }) => [
                shortId(id),
                oneLine(name ?? "-"),
                `${scopes.join(", ") || "-"}${requestsPerSecond === null ? "" : `, ${requestsPerSecond}/s`}`,
                ago(issuedAt, nowMs),
                status === "valid" ? untilText(expiresAt, 10) : status,
              ]),
            ),
      notes: all.length === 0 ? ['no tokens; "skein tokens add NAME --scope read" issues one'] : [],
    }),
  }),
  plain("engine.addToken", {
    creates: true,
    prepare({ params }) {
      if (params.scopes === undefined)
        throw invalid("tokens: --scope is required", "one or more, such as --scope read --scope write");
    },
    print(issued, { out }) {
      const { token, scopes, expiresAt } = issued;
      const text = `issued ${titleOf(issued)} for ${scopes.join(", ")}, ${untilText(expiresAt)}`;
      return { lines: [token], notes: out.json ? [] : [`${text}; it is shown this once`] };
    },
  }),
  plain("engine.revokeToken", { print: (revoked) => ({ lines: [`revoked ${titleOf(revoked)}`] }) }),
];

const untilText = (expiresAt: number | null, chars?: number): string =>
  expiresAt === null ? "until revoked" : `until ${exact(expiresAt).slice(0, chars)}`;

const titleOf = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${id} (${oneLine(name)})`;

const approvals = [
  plain("engine.approvals", {
    print: (all, { out, nowMs }) => ({
      lines:
        all.length === 0
          ? ["no saved approvals"]
          : all.flatMap(({ name, tool, command, at }) => [
              out.bold(`${oneLine(name)}  saved ${ago(at, nowMs)}`),
              ...callLines({ call: name, tool, input: { command: command.text }, command, seq: 0 }, Infinity),
            ]),
    }),
  }),
  plain("engine.revokeApproval", {
    print: (_, { params: { name = "" } }) => ({
      json: { revoked: name },
      lines: [`revoked ${oneLine(name)}`],
    }),
  }),
];

const hooks = [
  plain("engine.hooks", {
    async call({ engine }) {
      const { waitingFor } = await import("../../server/outbound/webhooks-out.ts");
      const opened = await engine();
      const found: (HookEntry & HookBacklog)[] = [];
      for (const hook of await opened.hooks())
        found.push({ ...hook, ...(await waitingFor(internalsOf(opened), hook)) });
      return found;
    },
    print: (all, { out, nowMs }) => ({
      lines:
        all.length === 0
          ? []
          : grid(
              out,
              ["HOOK", "ADDRESS", "EVENTS", "DELIVERED", "~LAST"],
              all.map((hook) => [
                oneLine(hook.name),
                oneLine(hook.url ?? "erased"),
                hook.events.join(", "),
                deliveryText(hook, nowMs),
                hook.deliveredAt === null ? "-" : ago(hook.deliveredAt, nowMs),
              ]),
            ),
      notes:
        all.length === 0 ? ['no hooks; "skein hooks add NAME URL --events TYPE --secret NAME" adds one'] : [],
    }),
  }),
  plain("engine.setHook", {
    creates: true,
    prepare({ params }) {
      if (params.events === undefined)
        throw invalid(
          "hooks: --events is required",
          "types of events, such as --events session.closed,turn.*",
        );
      params.events = params.events.flatMap((one) => one.split(","));
      if (params.secret === undefined)
        throw invalid(
          "hooks: --secret is required",
          "--secret NAME: the name of an environment variable of the server",
        );
    },
    print: (set, { out }) => ({
      lines: [`added ${oneLine(set.name)}, receives ${set.events.join(", ")} from now on`],
      notes: out.json ? [] : ['a server tells it ("skein serve"); "skein hooks test" tries it'],
    }),
  }),
  plain("engine.removeHook", { print: ({ name }) => ({ lines: [`removed ${oneLine(name)}`] }) }),
];

export const accessPlain = [...tokens, ...approvals, ...hooks];

export const accessActions = [
  verb({
    name: "hooks test",
    line: "Make one call to a webhook.",
    args: ["NAME"],
    options: { "allow-private": { type: "flag", what: "also in private networks" } },
    examples: [],
    async run({ args: { NAME: name }, options, out, engine }) {
      const { callHook } = await import("../../server/outbound/webhooks-out.ts");
      const context = internalsOf(await engine());
      const hook = await hookCalled(context, name);
      const outbound = { allowPrivate: options["allow-private"] };
      const { status, ms } = await callHook(context, { hook, options: { outbound } });
      if (status < 200 || status > 299)
        throw new SkeinError("refused", `webhook ${oneLine(name)}: the receiver responded with ${status}`, {
          hint: "a delivery needs a status from 200 to 299; redirects are not followed",
        });
      const text = `${oneLine(name)} answered ${status} after ${Math.round(ms)} ms`;
      await out.answer({ status, ms }, () => [text]);
    },
  }),
];

/** Only the server that sends knows failures; here the backlog shows them. */
export function deliveryText(
  { delivered, abandoned, waiting, waitingSince }: Pick<HookEntry, "delivered" | "abandoned"> & HookBacklog,
  nowMs: number,
): string {
  const gone = abandoned === 0 ? "" : `, ${abandoned} abandoned`;
  const waitedMs = waitingSince === null ? 0 : nowMs - waitingSince;
  const left = waitedMs < unnotedMs ? "" : `; ${waiting} wait, the first for ${roughly(waitedMs)}`;
  return `${delivered}${gone}${left}`;
}

/** Deliveries of the last minute are not recorded yet, and would count as waiting. */
const unnotedMs = 120_000;
