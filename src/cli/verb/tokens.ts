/** Tokens of the workspace: issues, lists and revokes them. */
import { shortId } from "../../core/text/short-id.ts";
import { isScope, scopes, type TokenScope } from "../../core/workspace/access-token.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { oneOf } from "../command/args.ts";
import { present } from "../command/input.ts";
import { ago, exact } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { verb, type Call, type OptionValues } from "../command/verb.ts";

const actions = ["list", "add", "revoke"] as const;

const options = {
  scope: { type: "list", value: scopes.join("|"), what: "with add: what it may be used for" },
  expires: { type: "span", value: "SPAN", what: "with add: how long it holds, such as 90d" },
  principal: { type: "text", value: "prn_…", what: "with add: who comes with it, if not somebody new" },
  reason: { type: "text", value: "TEXT", what: "with revoke: why" },
  all: { type: "flag", short: "a", what: "with list: also those that hold no more" },
} as const;

export const tokens = verb({
  name: "tokens",
  line: "Issue, list or revoke tokens, by which programs come in over the network.",
  args: ["ACTION?", "WHAT?"],
  options,
  about: [
    "ACTION is list (the default), add [NAME] or revoke ID. A token is printed this once: the store keeps " +
      "its hash alone. An ending of the id will do to revoke it; servers know it within a second.",
    "read lets it read; write change sessions; operate set agents, triggers and policies; admin do " +
      "everything, tokens and deleting among it. --scope may be given several times.",
    "Whoever comes with a token is in the log as its principal. By default that is somebody new; with " +
      "--principal a second token goes on as the same one.",
  ],
  examples: [
    "skein tokens  # those that hold",
    "skein tokens add ci --scope read --scope write --expires 90d  # one for three months",
    "skein tokens add --scope read | gh secret set SKEIN  # it alone is printed",
    'skein tokens revoke 4x8kz1qn --reason "lost"  # it holds no more',
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const { WHAT } = call.args;
    refuseMore(call, action, WHAT);
    if (action === "list") return list(call);
    if (action === "add") return add(call, WHAT);
    if (WHAT === undefined) {
      throw new SkeinError("invalid", "tokens: which one is to be revoked?", {
        hint: 'give its id, or an ending of it; "skein tokens" lists what there is',
      });
    }
    const revoked = await (await call.engine()).revokeToken(WHAT, present({ reason: call.options.reason }));
    return call.out.answer(revoked, () => [`revoked ${titleOf(revoked)}`]);
  },
});

type Action = (typeof actions)[number];
type Given = OptionValues<typeof options>;
type Here = Pick<Call, "out" | "engine" | "nowMs"> & { readonly options: Given };

/** Which options each action takes. */
const taken: Readonly<Record<Action, readonly (keyof Given)[]>> = {
  list: ["all"],
  add: ["scope", "expires", "principal"],
  revoke: ["reason"],
};

function refuseMore({ options: given }: Here, action: Action, what: string | undefined): void {
  const hint = "usage: skein tokens list, add [NAME] --scope SCOPE, or revoke ID";
  // Whatever it is, it may be a token: it is not repeated.
  if (action === "list" && what !== undefined)
    throw new SkeinError("invalid", "tokens: one argument too many", { hint });
  const { all, scope, expires, principal, reason } = given;
  const texts = present({ expires, principal, reason });
  const said = { ...texts, ...(all ? { all } : {}), ...(scope.length > 0 ? { scope } : {}) };
  const astray = Object.keys(said).find((name) => !taken[action].includes(name as keyof Given));
  if (astray !== undefined)
    throw new SkeinError("invalid", `tokens: --${astray} is not for ${action}`, { hint });
}

async function add({ out, engine, nowMs, options: given }: Here, name: string | undefined): Promise<void> {
  const { expires, principal } = given;
  const wanted = scopesOf(given.scope);
  const expiresAt = expires === undefined ? undefined : nowMs + expires;
  const opened = await engine({ create: true });
  const issued = await opened.addToken({ scopes: wanted, ...present({ name, principal, expiresAt }) });
  await out.answer(issued, () => [issued.token]);
  const until = issued.expiresAt === null ? "until it is revoked" : `until ${exact(issued.expiresAt)}`;
  if (!out.json) {
    out.note(`issued ${titleOf(issued)} for ${issued.scopes.join(", ")}, ${until}; it is shown this once`);
  }
}

function scopesOf(given: readonly string[]): TokenScope[] {
  const words = given.flatMap((one) => one.split(","));
  const hint = `one or more of ${scopes.join(", ")}, such as --scope read --scope write`;
  if (words.length === 0) throw new SkeinError("invalid", "tokens: what may it be used for?", { hint });
  return words.map((word) => {
    if (isScope(word)) return word;
    const near = nearest(word, scopes);
    throw new SkeinError("invalid", `tokens: there is no scope ${quote(word)}`, {
      hint: near === undefined ? hint : `did you mean "${near}"?`,
    });
  });
}

async function list({ out, engine, nowMs, options: { all } }: Here): Promise<void> {
  const found = await (await engine()).tokens({ all });
  if (out.json) {
    for (const one of found) await out.emit(one);
    return;
  }
  if (found.length === 0) {
    out.note('no tokens; "skein tokens add NAME --scope read" issues one');
    return;
  }
  const columns = [
    { title: "TOKEN" },
    { title: "NAME" },
    { title: "SCOPES" },
    { title: "ISSUED", paint: out.dim },
    { title: "HOLDS" },
  ];
  const rows = found.map(({ id, name, scopes: its, issuedAt, expiresAt, status }) => [
    shortId(id),
    oneLine(name ?? "-"),
    its.join(", ") || "-",
    ago(issuedAt, nowMs),
    status !== "valid"
      ? status
      : expiresAt === null
        ? "until revoked"
        : `until ${exact(expiresAt).slice(0, 10)}`,
  ]);
  for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

const titleOf = ({ id, name }: { readonly id: string; readonly name: string | null }): string =>
  name === null ? id : `${id} (${oneLine(name)})`;
