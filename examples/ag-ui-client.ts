/**
 * A front end of AG-UI on a session, with the unmodified client: this program is the page, `skein serve` the
 * server. A page that opens later gets the conversation from the log.
 *
 *   npx node --conditions=skein-source examples/ag-ui-client.ts
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HttpAgent } from "@ag-ui/client";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
// On the command line: skein serve --store skein.db
const main = join(import.meta.dirname, "../src/cli/main.ts");
const args = [main, "serve", "--store", join(folder.path, "skein.db"), "--port", "0", "--json"];
const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
try {
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const { url, tokenFile } = JSON.parse(line.toString()) as { url: string; tokenFile: string };
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}` };
  const openPage = () => new HttpAgent({ url: `${url}/ag-ui`, threadId: "customer-7", headers });

  const page = openPage();
  page.addMessage({ id: crypto.randomUUID(), role: "user", content: "remember the fact sky is blue" });
  await page.runAgent(
    {},
    {
      onTextMessageContentEvent: ({ event }) => void process.stdout.write(event.delta),
      onStateSnapshotEvent: ({ event }) => console.log("state:", JSON.stringify(event.snapshot)),
    },
  );
  const later = openPage();
  await later.runAgent();
  console.log(`\nopened again: ${later.messages.map(({ role }) => role).join(", ")}`);
} finally {
  server.kill();
  await once(server, "exit");
}
