/** Policies of the workspace: lists, shows, sets and removes them. */
import { existsSync, readFileSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { statuses } from "../../core/session/lifecycle.ts";
import { checkPolicy, checkPolicyName, policyKinds as things } from "../../core/govern/policy.ts";
import { isForEverything, type Policy } from "../../core/govern/policy.ts";
import type { PolicyEntry } from "../../runtime/workspace/policies.ts";
import { databaseOf } from "../../tool/live-database.ts";
import { oneOf } from "../command/args.ts";
import { pairsOf, present } from "../command/input.ts";
import { ago } from "../format/moment.ts";
import { table } from "../format/table.ts";
import { oneLine, plural } from "../format/text.ts";
import { verb, type Call, type OptionValues } from "../command/verb.ts";

const actions = ["list", "show", "set", "remove"] as const;

const options = {
  do: { type: "text", value: things.join("|"), what: "with set: what is done to a session" },
  after: { type: "text", value: "SPAN", what: "with set: when nothing was written to it for so long" },
  running: { type: "count", value: "N", what: "with set, of a limit: so many are run at once" },
  agent: { type: "text", value: "NAME", what: "with set: only to sessions of this agent" },
  model: { type: "text", value: "PROVIDER/MODEL", what: "with set, of a limit: only of this model" },
  label: { type: "list", value: "KEY=VALUE", what: "with set: only to those with this label" },
  status: { type: "list", value: statuses.join("|"), what: "with set: only to those of this status" },
  yes: { type: "flag", short: "y", what: "with set: also if it is for every session there is" },
} as const;

export const policy = verb({
  name: "policy",
  line: "List, show, set or remove policies: what becomes of sessions, and how many are run.",
  args: ["ACTION?", "NAME?", "FILE?"],
  options,
  about: [
    'ACTION is list (the default), show NAME, set NAME or remove NAME. "skein retain" does what policies ' +
      "say; setting one does nothing by itself.",
    "pack packs records that are older than --after, or lie before the last compaction; nothing is lost. " +
      "expire closes sessions that are open or suspended. archive makes closed ones read-only and packs " +
      "all of them. delete deletes closed and archived ones for good. --status names others.",
    "limit is for workers: of the sessions it names at most --running are run at once, by all workers " +
      "together. What waits for it is shown by skein ps.",
    "A policy is set from options, or from a FILE in YAML or JSON with the same words. The one called " +
      '"default" packs after 7 days and is there from the beginning; one of its name replaces it.',
  ],
  examples: [
    "skein policy  # all that hold",
    "skein policy set stale --do expire --after 90d --agent payroll  # close what idles",
    "skein policy set trash --do delete --after 12h --label env=test  # tests go soon",
    "skein policy set two --do limit --agent coder --running 2  # two coders at once",
    "skein policy set audit audit.yaml  # from a file",
    "skein policy remove trash  # it holds no more",
  ],
  async run(call) {
    const action = oneOf("ACTION", call.args.ACTION ?? "list", actions);
    const { NAME, FILE } = call.args;
    if (action !== "set") refuseMore(call, action === "list" ? NAME : FILE);
    if (action === "list") return list(call);
    if (NAME === undefined) {
      throw new SkeinError("invalid", `policy: which one is to be ${done[action]}?`, {
        hint: 'give its name; "skein policy" lists what there is',
      });
    }
    if (action === "show") return show(call, NAME);
    if (action === "set") return set(call, NAME, FILE);
    await (await call.engine()).removePolicy(NAME);
    return call.out.answer({ name: NAME, removed: true }, () => [`removed ${oneLine(NAME)}`]);
  },
});

const done = { show: "shown", set: "set", remove: "removed" } as const;

type Given = OptionValues<typeof options>;
type Here = Pick<Call, "out" | "engine" | "nowMs"> & { readonly options: Given };

/** Options and arguments that mean nothing to this action are more likely a mistake than not. */
function refuseMore({ options: given }: Here, extra: string | undefined): void {
  if (extra !== undefined) {
    throw new SkeinError("invalid", `policy: ${quote(extra)} is one argument too many`, {
      hint: "usage: skein policy list, show NAME, set NAME [FILE], or remove NAME",
    });
  }
  if (Object.keys(fieldsOf(given)).length === 0) return;
  throw new SkeinError("invalid", "policy: these options are for setting one", {
    hint: "usage: skein policy set NAME --do expire --after 90d",
  });
}

function fieldsOf({
  do: what,
  after,
  running,
  agent,
  model,
  label,
  status,
}: Given): Readonly<Record<string, unknown>> {
  const match = {
    ...present({ agent, model }),
    ...(label.length === 0 ? {} : { labels: pairsOf("--label", label) }),
    ...(status.length === 0 ? {} : { status }),
  };
  return { ...present({ do: what, after, running }), ...(Object.keys(match).length === 0 ? {} : { match }) };
}

/** Checked before anything is opened, so that a bad one leaves nothing behind. */
async function set(
  { out, engine, options: given }: Here,
  name: string,
  file: string | undefined,
): Promise<void> {
  checkPolicyName(name);
  const fields = fieldsOf(given);
  if (file !== undefined && Object.keys(fields).length > 0) {
    throw new SkeinError("invalid", "policy: a file and options at once", { hint: "give one of the two" });
  }
  const wanted =
    file === undefined
      ? checkPolicy(fields, { where: `policy ${quote(name)}` })
      : (await import("../../runtime/workspace/policy-file.ts")).parsePolicy(readPolicy(file), {
          path: file,
        });
  const opened = await engine({ create: true });
  if (isForEverything(wanted) && !given.yes) {
    const { sessions } = await opened.stats();
    throw new SkeinError(
      "refused",
      `${quote(name)} would in time ${wanted.do} every session there is; ` +
        `the store holds ${plural(sessions, "session")}`,
      { hint: "add --yes if that is what you want, or let it match an agent, a label or a status" },
    );
  }
  const entry = await opened.setPolicy(name, wanted, { everything: given.yes });
  await out.answer(entry, () => [`set ${oneLine(name)}: ${sentence(wanted)}`]);
}

function readPolicy(path: string): string {
  try {
    // Closing a file of an open database would drop the locks that this process holds on it.
    if (existsSync(`${databaseOf(path)}-shm`)) throw new Error("it belongs to a database that is open");
    const bytes = readFileSync(path);
    if (bytes.length <= limit.documentBytesMax) return bytes.toString("utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `the policy file ${quote(path)} cannot be read`, {
      hint: "give the path of a YAML or JSON file, or set the policy by options",
      cause,
    });
  }
  throw new SkeinError("invalid", `${quote(path)} is too long for a policy file`, {
    hint: `at most ${limit.documentBytesMax} bytes`,
  });
}

async function list({ out, engine, nowMs }: Here): Promise<void> {
  const all = await (await engine()).policies();
  if (out.json) {
    for (const one of all) await out.emit(one);
    return;
  }
  const columns = [{ title: "POLICY" }, { title: "SET" }, { title: "WHAT IT DOES" }];
  const rows = all.map(({ name, policy: one, at }) => [
    oneLine(name),
    at === null ? "built in" : ago(at, nowMs),
    one === null ? "set by a newer program; not followed here" : sentence(one),
  ]);
  for (const line of table(columns, rows, { width: out.columns, heading: out.bold })) await out.line(line);
}

async function show({ out, engine, nowMs }: Here, name: string): Promise<void> {
  const found = (await (await engine()).policies()).find((one) => one.name === name);
  if (found === undefined) {
    throw new SkeinError("not-found", `there is no policy ${quote(name)}`, {
      hint: '"skein policy" lists what there is',
    });
  }
  await out.answer(found, () => shown(found, nowMs));
}

const shown = ({ name, policy: one, at, actor, everything }: PolicyEntry, nowMs: number): string[] => [
  `${oneLine(name)}: ${one === null ? "set by a newer program; not followed here" : sentence(one)}`,
  at === null
    ? "built in; set one of its name to replace it"
    : `set ${ago(at, nowMs)} by ${oneLine(actor ?? "")}`,
  ...(everything ? ["it is for every session there is"] : []),
];

/** In words: `expire after 90d, of agent payroll, with env=test`. */
function sentence({ do: what, after, running, match = {} }: Policy): string {
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
