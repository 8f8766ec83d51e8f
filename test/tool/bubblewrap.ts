/** Bubblewrap for the tests: what is here, else Debian's package. */
import { aptInstall, run } from "../apt.ts";

const probe = [
  "--unshare-user",
  "--unshare-pid",
  "--disable-userns",
  "--ro-bind",
  "/",
  "/",
  "--proc",
  "/proc",
];

/** Why sandboxes cannot be tested here; false when they can. Under CI that is a failure of its own. */
export async function noBubblewrap(): Promise<string | false> {
  const reason = await reasonAgainst();
  if (reason !== false && process.env["CI"] === "true") throw new Error(reason);
  return reason;
}

async function reasonAgainst(): Promise<string | false> {
  if (process.platform !== "linux") return "bubblewrap needs Linux";
  if ((await run("bwrap", ["--version"])) === undefined && !(await aptInstall("bubblewrap"))) {
    return "there is no bubblewrap: run apt-get install bubblewrap";
  }
  if ((await run("bwrap", [...probe, "true"])) !== undefined) return false;
  return "bubblewrap 0.8 with user namespaces does not work here: run bwrap --unshare-user true to see why";
}
