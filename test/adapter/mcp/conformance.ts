/** The protocol's official conformance suites, in a process of their own, against a server with fixtures. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { makeMcpMount } from "../../../src/adapter/mcp/mount.ts";
import { served } from "../../server/served.ts";
import { extension } from "./fixtures.ts";
import { startTokenProxy } from "./token-proxy.ts";

/** Pinned. Each needs 51 MB with what it depends on: too much for everyone's checkout. */
const suites = { legacy: "0.1.16", modern: "0.2.0-alpha.12" } as const;

const folderOf = (era: keyof typeof suites): string =>
  join(tmpdir(), "skein-vendors", `mcp-conformance-${suites[era]}`);

/** The program of a suite, if an earlier run has installed it. */
export const installedSuite = (era: keyof typeof suites): string | null =>
  existsSync(join(folderOf(era), "installed"))
    ? join(folderOf(era), "node_modules/@modelcontextprotocol/conformance/dist/index.js")
    : null;

/** The program of a suite, installed where later runs find it; null when it cannot be. */
export function installSuite(era: keyof typeof suites): string | null {
  if (installedSuite(era) !== null) return installedSuite(era);
  const folder = folderOf(era);
  const name = `@modelcontextprotocol/conformance@${suites[era]}`;
  mkdirSync(folder, { recursive: true });
  const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, name];
  const done = spawnSync("npm", words, { cwd: folder, encoding: "utf8", timeout: 300_000 });
  if (done.status !== 0) return null;
  mkdirSync(join(folder, "installed"), { recursive: true });
  return installedSuite(era);
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

/** The checks of each scenario that ran. */
export async function runSuite(
  program: string,
  words: readonly string[],
): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), "skein-mcp-conformance-"));
  try {
    await using place = await served({ mounts: [makeMcpMount({ extension })] });
    await using proxy = await startTokenProxy(place.server.url, place.token);
    const args = [program, "server", "--url", `${proxy.url}/mcp`, "-o", folder, ...words];
    const child = spawn(process.execPath, args, { stdio: "ignore", timeout: 240_000, killSignal: "SIGKILL" });
    await once(child, "exit");
    return new Map(
      globSync(join(folder, "*/checks.json")).map((file) => {
        const [, scenario = ""] = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(basename(dirname(file))) ?? [];
        return [scenario, JSON.parse(readFileSync(file, "utf8")) as Check[]];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What failed, as lines. A warning is a SHOULD that was not kept. */
export const failuresOf = (checks: ReadonlyMap<string, readonly Check[]>): string[] =>
  [...checks].flatMap(([scenario, list]) =>
    list
      .filter(({ status }) => status === "FAILURE" || status === "WARNING")
      .map(({ id, status, errorMessage = "" }) => `${scenario}: ${id}: ${status} ${errorMessage}`),
  );
