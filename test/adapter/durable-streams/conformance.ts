/** The protocol's official conformance suite, in a process of its own, against named streams. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDurableStreamsMount } from "../../../src/adapter/durable-streams/mount.ts";
import { makePushCalls } from "../../../src/adapter/push-calls.ts";
import { served } from "../../server/served.ts";

/** Pinned; the suite needs this line of vitest. 44 MB: too much for everyone's checkout. */
const packages = ["@durable-streams/server-conformance-tests@0.3.6", "vitest@4.1.12"];
const folder = join(tmpdir(), "skein-vendors", "durable-streams-0.3.6");

/** Whether an earlier run has installed it. */
export const isInstalled = (): boolean => existsSync(join(folder, "installed"));

/** Installs the suite where later runs find it. False when it cannot be. */
export function installSuite(): boolean {
  if (isInstalled()) return true;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, ...packages];
  const done = spawnSync("npm", words, { cwd: folder, encoding: "utf8", timeout: 300_000 });
  if (done.status === 0) mkdirSync(join(folder, "installed"), { recursive: true });
  return done.status === 0;
}

/** The suite sends no token of the server: where it sends none at all, the server's is added. */
const program = `import { describe } from "vitest";
import { runConformanceTests } from "@durable-streams/server-conformance-tests";
const baseUrl = process.env.SKEIN_STREAMS_URL;
const plainFetch = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const request = new Request(input, init);
  if (request.url.startsWith(baseUrl) && !request.headers.has("authorization"))
    request.headers.set("authorization", "Bearer " + process.env.SKEIN_STREAMS_TOKEN);
  return plainFetch(request);
};
describe("skein", () => {
  runConformanceTests({ baseUrl, longPollTimeoutMs: 500, subscriptions: true });
});
`;

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The cases by status. `only`: those whose name matches. */
export async function runSuite(only?: string) {
  const push = makePushCalls({ secret: "a".repeat(32), allowPrivate: true });
  const mount = makeDurableStreamsMount(push, { longPollMs: 500, sseMs: 60_000, eventsMax: 500 });
  await using place = await served({ mounts: [mount], origins: ["https://example.com"] });
  const following = await mount.follow?.(place.engine, (error) => place.troubles.push(error));
  writeFileSync(join(folder, "suite.test.mjs"), program);
  const output = join(folder, `report-${process.pid}.json`);
  const words = ["run", "--root", folder, "--reporter=json", `--outputFile=${output}`, "suite.test.mjs"];
  const names = only === undefined ? [] : ["-t", only];
  const child = spawn(
    process.execPath,
    [join(folder, "node_modules/vitest/vitest.mjs"), ...words, ...names],
    {
      cwd: folder,
      env: {
        ...process.env,
        SKEIN_STREAMS_URL: `${place.server.url}/streams`,
        SKEIN_STREAMS_TOKEN: place.token,
        NODE_OPTIONS: "",
      },
      stdio: "ignore",
      timeout: 280_000,
      killSignal: "SIGKILL",
    },
  );
  await once(child, "exit");
  await following?.stop();
  const { testResults } = JSON.parse(readFileSync(output, "utf8")) as Report;
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  const of = (status: string) => all.filter((one) => one.status === status);
  return {
    passed: of("passed").map(({ fullName }) => fullName),
    failed: of("failed").map(({ fullName, failureMessages }) => ({
      name: fullName,
      why: `${fullName}: ${failureMessages[0] ?? ""}`,
    })),
    skipped: of("skipped").map(({ fullName }) => fullName),
    troubles: place.troubles,
  };
}
