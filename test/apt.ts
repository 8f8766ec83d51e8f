/** Debian's packages, for tests that need a program which the machine lacks. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** A machine without a network must not wait for long, and two of us not fall over one another. */
const patience = ["Acquire::http::Timeout=10", "Acquire::Retries=0", "DPkg::Lock::Timeout=240"];

/** Whether it went well. */
export const apt = async (...words: readonly string[]): Promise<boolean> =>
  (await run("apt-get", ["-q", ...patience.flatMap((setting) => ["-o", setting]), ...words])) !== undefined;

/** With what it needs and nothing more. Only root may. */
export async function aptInstall(name: string, ...words: readonly string[]): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const install = ["install", "-y", "--no-install-recommends", ...words, name];
  return (await apt(...install)) || ((await apt("update")) && (await apt(...install)));
}

/** What a program printed; undefined when it failed, or is not there. */
export const run = async (program: string, words: readonly string[]): Promise<string | undefined> =>
  promisify(execFile)(program, [...words], {
    timeout: 300_000,
    maxBuffer: 2 ** 26,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
  }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
