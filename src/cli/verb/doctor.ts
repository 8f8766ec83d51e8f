/** Checks everything that a store depends on, and says how to fix what fails. */
import { SkeinError } from "../../core/error.ts";
import { realWorld } from "../../runtime/world.ts";
import type { StoreCheck } from "../../store/driver.ts";
import { locateStore } from "../../store/registry.ts";
import { count, oneLine, plural } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { version } from "../../core/version.ts";

export const doctor = verb({
  name: "doctor",
  line: "Check the machine and the store, and say how to fix what fails.",
  args: [],
  options: {},
  about: ["It also works without a store. It exits with 1 when a check fails."],
  examples: [
    "skein doctor  # of ./skein.db",
    "skein doctor --store /srv/skein.db --json  # of another store, for programs",
    "skein doctor --store postgres://skein@db/skein  # of a server and its settings",
  ],
  async run({ out, place, store }) {
    const at = await locateStore(place);
    const opened = async () => openedChecks(await store());
    const checks = [
      ...programChecks(),
      ...(await secretChecks()),
      ...(await (at.diagnose?.(realWorld(), opened) ?? openedOrNot(opened))),
    ];
    const ok = checks.every((check) => check.ok);
    await out.answer({ ok, version, store: at.shown, checks }, () => [
      ...checks.flatMap(({ name, ok, found, todo }) => [
        `${ok ? out.green("ok  ") : out.red("BAD ")}${name.padEnd(14)}${oneLine(found)}`,
        ...(ok || todo === undefined ? [] : [`      ${out.bold("to do:")} ${oneLine(todo)}`]),
      ]),
      "",
      ok ? "all is well" : "something is not well; see above",
    ]);
    return ok ? 0 : 1;
  },
});

function programChecks(): StoreCheck[] {
  const { node } = process.versions;
  return [
    { name: "Skein", ok: true, found: version },
    { name: "Node", ok: Number(node.split(".")[0]) >= 24, found: node, todo: "install Node 24 or newer" },
  ];
}

/** The secrets of the configuration, if any. */
async function secretChecks(): Promise<StoreCheck[]> {
  const { notLookedFor } = await import("../open/secrets.ts");
  try {
    return notLookedFor(process.env).map(({ name, why }) => ({
      name: "secrets",
      ok: false,
      found: `${name} of secrets.names ${why}`,
      todo: `set ${name}, or take it out of the configuration; until then it is stored like any text`,
    }));
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    return [{ name: "secrets", ok: false, found: error.message, todo: error.hint ?? "see docs/secrets.md" }];
  }
}

/** For a driver without checks. */
async function openedOrNot(opened: () => Promise<readonly StoreCheck[]>): Promise<readonly StoreCheck[]> {
  try {
    return await opened();
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const todo = error.hint ?? "see docs/operating.md";
    return [{ name: "opens", ok: false, found: error.message, todo }];
  }
}

/** The basis of durability, by driver. */
const how: Readonly<Record<string, string>> = {
  sqlite: "synchronous=FULL, read back",
  postgres: "flushed before COMMIT answers",
};

async function openedChecks(store: Awaited<ReturnType<VerbCall["store"]>>): Promise<StoreCheck[]> {
  const { driver, durability, sessions, records } = await store.stats();
  const faults = await store.check();
  return [
    { name: "opens", ok: true, found: `${plural(sessions, "session")}, ${count(records)} records` },
    {
      name: "durability",
      ok: durability === "disk",
      found:
        durability === "disk" ? `${how[driver] ?? "disk"}: what is acknowledged is on the disk` : durability,
    },
    {
      name: "pages",
      ok: faults.length === 0,
      found: faults.length === 0 ? "sound" : `${plural(faults.length, "fault")}: ${faults[0] ?? ""}`,
      todo: 'run "skein verify --all" and restore a backup',
    },
  ];
}
