/** `skein hooks`: what it prints, what it refuses, and one call to try it. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { deliveryText } from "../../src/cli/plain/access.ts";
import { makeFolder, skeinIn } from "./skein.ts";

test("a hook is added, listed, tried and removed", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${String(request.headers["skein-event"])}`);
    response.writeHead(asked.length === 1 ? 204 : 302).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`;
  process.env["TEST_TOLD_SECRET"] = "a long secret of the test";
  const skein = skeinIn(makeFolder());
  const filter = ["--events", "turn.*,session.closed", "--label", "team=web", "--agent", "coder"];
  const added = await skein.here("hooks", "add", "ops", url, "--secret", "TEST_TOLD_SECRET", ...filter);
  assert.equal(added.stdout, "added ops, receives turn.*, session.closed from now on\n");
  const [listed] = await skein.look("hooks");
  const { name, events, labels, agent, secret, delivered } = listed ?? {};
  assert.deepEqual(
    { name, url: listed?.["url"], events, labels, agent, secret, delivered },
    {
      name: "ops",
      url,
      events: ["turn.*", "session.closed"],
      labels: { team: "web" },
      agent: "coder",
      secret: "TEST_TOLD_SECRET",
      delivered: 0,
    },
  );
  const refused = await skein.here("hooks", "test", "ops");
  assert.match(refused.stderr, /a private address/);
  const tried = await skein.here("hooks", "test", "ops", "--allow-private");
  assert.match(tried.stdout, /^ops answered 204 after \d+ ms\n$/);
  const moved = await skein.here("hooks", "test", "ops", "--allow-private");
  assert.match(moved.stderr, /responded with 302/);
  assert.deepEqual(asked, ["POST /told trial", "POST /told trial"]);
  assert.match((await skein.here("hooks")).stdout, /ops +http\S+ +turn\.\*, session\.closed +0 +-/);
  assert.equal((await skein.here("hooks", "remove", "ops")).stdout, "removed ops\n");
  assert.deepEqual(await skein.look("hooks"), []);
  delete process.env["TEST_TOLD_SECRET"];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("waiting events are counted, and shown after a delay", async () => {
  const skein = skeinIn(makeFolder());
  const how = ["--events", "session.opened", "--secret", "S"];
  await skein.here("hooks", "add", "ops", "https://example.com/", ...how);
  await skein.here("open", "One");
  await skein.here("open", "Two");
  const [hook] = await skein.look("hooks");
  assert.equal(hook?.["waiting"], 2);
  const nowMs = Date.now();
  assert.ok(Math.abs(Number(hook?.["waitingSince"]) - nowMs) < 60_000);
  const told = { delivered: 3, abandoned: 0, waiting: 2 };
  assert.equal(deliveryText({ ...told, waitingSince: nowMs - 60_000 }, nowMs), "3");
  assert.equal(deliveryText({ ...told, waitingSince: null }, nowMs), "3");
  assert.equal(
    deliveryText({ ...told, abandoned: 1, waitingSince: nowMs - 300_000 }, nowMs),
    "3, 1 abandoned; 2 wait, the first for 5 m",
  );
});

test("mistakes print an error with a hint", async () => {
  const skein = skeinIn(makeFolder());
  const url = "https://example.com/";
  const full = ["--events", "turn.ended", "--secret", "S"];
  const wrong: [string[], RegExp][] = [
    [["add", "ops", url, "--secret", "S"], /--events is required/],
    [["add", "ops", url, "--events", "turn.ended"], /--secret is required/],
    [["add", "ops", url, "--events", "turn.endet", "--secret", "S"], /did you mean "turn\.ended"\?/],
    [["add", "ops", "ftp://x/", ...full], /expected an http/],
    [["add", "ops", ...full], /hooks add: URL is required\n.*usage: skein hooks add NAME URL/],
    [
      ["remove", "ops", url],
      /(unexpected argument|is one argument too many).*\n.*usage: skein hooks remove NAME/,
    ],
    [["list", "--secret", "S"], /hooks list: unexpected --secret\n.*--secret is for add/],
    [["remove", "nobody"], /webhook "nobody" not found/],
    [["test", "nobody"], /webhook "nobody" not found/],
  ];
  await skein.here("hooks", "add", "first", url, ...full);
  for (const [words, told] of wrong) {
    const { stdout, stderr, code } = await skein.here("hooks", ...words);
    assert.match(stderr, told, words.join(" "));
    assert.equal(stdout, "");
    assert.notEqual(code, 0);
  }
});
