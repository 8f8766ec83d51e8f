/**
 * Another agent sends a task over A2A, with the unmodified client: this program is the client, `skein serve`
 * the server.
 *
 *   npx node --conditions=skein-source examples/a2a-client.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from "@a2a-js/sdk/client";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
// On the command line: skein serve --store skein.db
const main = join(import.meta.dirname, "../src/cli/main.ts");
const args = [main, "serve", "--store", join(folder.path, "skein.db"), "--port", "0", "--json"];
const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
try {
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { url: string; tokenFile: string };
  const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  const authorized: typeof fetch = (to, init) =>
    fetch(to, { ...init, headers: { ...(init?.headers as Record<string, string>), authorization } });
  const transports = [new JsonRpcTransportFactory({ fetchImpl: authorized })];
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports });
  const client = await new ClientFactory(options).createFromUrl(url);

  const none = { metadata: undefined, extensions: [], filename: "", mediaType: "" };
  const parts = [{ ...none, content: { $case: "text" as const, value: "remember the fact sky is blue" } }];
  const more = { ...none, contextId: "", taskId: "", referenceTaskIds: [] };
  const message = { ...more, messageId: crypto.randomUUID(), role: Role.ROLE_USER, parts };
  const stream = client.sendMessageStream({ ...none, tenant: "", configuration: undefined, message });
  for await (const { payload } of stream) {
    if (payload?.$case === "statusUpdate") console.log(TaskState[payload.value.status?.state ?? 0]);
    if (payload?.$case !== "artifactUpdate") continue;
    for (const { content } of payload.value.artifact?.parts ?? [])
      if (content?.$case === "text") process.stdout.write(content.value);
  }
} finally {
  server.kill();
  await once(server, "exit");
}
