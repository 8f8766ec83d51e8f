/** Hooks of the workspace: adds, lists, removes and tries addresses that are told of events. */
import { SkeinError } from "../../core/error.ts";
import { hookCalled, type HookEntry } from "../../runtime/workspace/webhooks.ts";
import { tellHook, waitingFor, type HookWaiting } from "../../server/outbound/webhooks-out.ts";
import { oneOf } from "../command/args.ts";
import { present } from "../command/input.ts";
import { roughly } from "../../core/text/utc.ts";
import { ago } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { verb, type Call, type OptionValues } from "../command/verb.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const actions = ["list", "add", "remove", "test"] as const;

const options = {
  events: { type: "list", value: "TYPE,…", what: "with add: of which events; turn.* is all that begin so" },
  secret: {
    type: "text",
    value: "NAME",
    what: "with add: the variable that holds what calls are signed with",
  },
  session: { type: "text", value: "ID", what: "with add: only of this session" },
  agent: { type: "text", value: "NAME", what: "with add: only of sessions of this agent" },
  label: { type: "list", value: "KEY=VALUE", what: "with add: only of sessions with this label" },
  reason: { type: "text", value: "TEXT", what: "with remove: why" },
  "allow-private": { type: "flag", what: "with test: also where only this network can go" },
} as const;

export const hooks = verb({
  name: "hooks",
  line: "Add, list, remove or try hooks: addresses that are told of events.",
  args: ["ACTION?", "NAME?", "URL?"],
  options,
  about: [
    "ACTION is list (the default), add NAME URL, remove NAME or test NAME. A server (skein serve) tells " +
      "each hook what happens from the moment it was added, in order and at least once; what is not taken " +
      "is tried again for a day. Of what was said nothing goes out.",
    "Calls are signed with what the variable --secret holds where the server runs; the store keeps its " +
      "name alone. test makes one call from here, with the variable as it is here.",
    "The list says what waits for longer than two minutes, of the next 10,000 events after the last that a " +
      "hook was told: then no server tells it, or it does not take them; the server's log says why.",
  ],
  examples: [
    "skein hooks  # those there are",
    "skein hooks add ops https://example.com/skein --events session.closed,turn.* --secret OPS_SECRET  " +
      "# told of both",
    "skein hooks test ops  # one call, now",
    "skein hooks remove ops  # told no more",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const { NAME, URL: url } = call.args;
    refuseMore(call.options, action);
    if (action === "list") return list(call);
    if (NAME === undefined || (action === "add") !== (url !== undefined))
      throw new SkeinError("invalid", `hooks: ${action} takes ${action === "add" ? "NAME URL" : "NAME"}`, {
        hint,
      });
    if (action === "add") return add(call, NAME, url ?? "");
    if (action === "test") return tryOut(call, NAME);
    const removed = await (await call.engine()).removeHook(NAME, present({ reason: call.options.reason }));
    return call.out.answer(removed, () => [`removed ${oneLine(removed.name)}`]);
  },
});

const hint = "usage: skein hooks list, add NAME URL --events TYPE --secret NAME, remove NAME, or test NAME";

type Action = (typeof actions)[number];
type Given = OptionValues<typeof options>;
type Here = Pick<Call, "out" | "engine" | "nowMs"> & { readonly options: Given };

/** Which options each action takes. */
const taken: Readonly<Record<Action, readonly string[]>> = {
  list: [],
  add: ["events", "secret", "session", "agent", "label"],
  remove: ["reason"],
  test: ["allow-private"],
};

function refuseMore(given: Given, action: Action): void {
  const said = Object.entries(given).filter(
    ([, value]) => value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0),
  );
  // Options that every verb takes are among them, too.
  const astray = said.find(([name]) => name in options && !taken[action].includes(name))?.[0];
  if (astray !== undefined)
    throw new SkeinError("invalid", `hooks: --${astray} is not for ${action}`, { hint });
}

async function add({ out, engine, options: given }: Here, name: string, url: string): Promise<void> {
  const { session, agent, secret } = given;
  const events = given.events.flatMap((one) => one.split(","));
  if (events.length === 0) throw new SkeinError("invalid", "hooks: of which events?", { hint });
  if (secret === undefined) {
    throw new SkeinError("invalid", "hooks: what are calls signed with?", {
      hint: "--secret NAME, the name of a variable where the server runs",
    });
  }
  const pairs = given.label.map((one): [string, string] => {
    const mark = one.indexOf("=");
    return [one.slice(0, mark === -1 ? one.length : mark), mark === -1 ? "" : one.slice(mark + 1)];
  });
  const labels = pairs.length === 0 ? undefined : Object.fromEntries(pairs);
  const opened = await engine({ create: true });
  const set = await opened.setHook(name, url, { events, secret, ...present({ session, agent, labels }) });
  await out.answer(set, () => [`added ${oneLine(name)}, told of ${events.join(", ")} from now on`]);
  if (!out.json) out.note('a server tells it ("skein serve"); "skein hooks test" tries it');
}

async function tryOut({ out, engine, options: given }: Here, name: string): Promise<void> {
  const context = internalsOf(await engine());
  const hook = await hookCalled(context, name);
  const outbound = { allowPrivate: given["allow-private"] };
  const { status, ms } = await tellHook(context, { hook, options: { outbound } });
  if (status < 200 || status > 299) {
    throw new SkeinError("refused", `the hook ${oneLine(name)} answered ${status}`, {
      hint: "only an answer from 200 to 299 counts as told; redirects are not followed",
    });
  }
  await out.answer({ status, ms }, () => [`${oneLine(name)} answered ${status} after ${Math.round(ms)} ms`]);
}

async function list({ out, engine, nowMs }: Here): Promise<void> {
  const opened = await engine();
  const found: (HookEntry & HookWaiting)[] = [];
  for (const hook of await opened.hooks())
    found.push({ ...hook, ...(await waitingFor(internalsOf(opened), hook)) });
  if (out.json) {
    for (const one of found) await out.emit(one);
    return;
  }
  if (found.length === 0) {
    out.note('no hooks; "skein hooks add NAME URL --events TYPE --secret NAME" adds one');
    return;
  }
  const columns = [
    { title: "HOOK" },
    { title: "ADDRESS" },
    { title: "EVENTS" },
    { title: "TOLD" },
    { title: "LAST", paint: out.dim },
  ];
  const rows = found.map((hook) => [
    oneLine(hook.name),
    oneLine(hook.url ?? "erased"),
    hook.events.join(", "),
    toldOf(hook, nowMs),
    hook.deliveredAt === null ? "-" : ago(hook.deliveredAt, nowMs),
  ]);
  for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

/** What goes wrong is known where the hook is told; here it is seen by what waits. */
export function toldOf(
  { delivered, abandoned, waiting, waitingSince }: Pick<HookEntry, "delivered" | "abandoned"> & HookWaiting,
  nowMs: number,
): string {
  const gone = abandoned === 0 ? "" : `, ${abandoned} given up`;
  const waitedMs = waitingSince === null ? 0 : nowMs - waitingSince;
  const left = waitedMs < unnotedMs ? "" : `; ${waiting} wait, the first for ${roughly(waitedMs)}`;
  return `${delivered}${gone}${left}`;
}

/** What was told in the last minute is not written down yet, and may be taken for what waits. */
const unnotedMs = 120_000;
