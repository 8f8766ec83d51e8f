/** `skein tokens`: what it prints, what it refuses, and that a token is printed once. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { makeFolder, skeinIn } from "./skein.ts";

test("a token is issued, listed without its secret, and revoked", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const added = await skein.here(
    "tokens",
    "add",
    "ci",
    "--scope",
    "read",
    "--scope",
    "write",
    "--expires",
    "90d",
  );
  const token = added.stdout.trim();
  assert.match(token, /^skn_\S+$/);
  assert.match(added.stderr, /issued tok_\w{26} \(ci\) for read, write, until 20.*; it is shown this once/);
  assert.ok(!added.stderr.includes(token));
  await using engine = await openEngine({ store: join(folder, "skein.db"), create: false });
  const holder = await engine.checkToken(token);
  const [listed] = await skein.look("tokens");
  assert.deepEqual(
    [listed?.["id"], listed?.["name"], listed?.["principal"]],
    [holder?.id, "ci", holder?.principal],
  );
  const lists = await skein.here("tokens", "list", "--all");
  assert.match(lists.stdout, /\w{8} +ci +read, write +\S.* +until 20/);
  assert.ok(!lists.stdout.includes(token.slice(-43)) && !JSON.stringify(listed).includes(token.slice(-43)));
  const revoked = await skein.here("tokens", "revoke", holder!.id.slice(-8), "--reason", "lost");
  assert.equal(revoked.stdout, `revoked ${holder!.id} (ci)\n`);
  assert.deepEqual(await skein.look("tokens"), []);
  assert.deepEqual(
    (await skein.look("tokens", "--all")).map(({ status }) => status),
    ["revoked"],
  );
});

test("a second token acts as the same principal", async () => {
  const skein = skeinIn(makeFolder());
  const [first] = await skein.look("tokens", "add", "--scope", "read,write");
  const principal = String(first?.["principal"]);
  const [second] = await skein.look("tokens", "add", "--scope", "admin", "--principal", principal);
  assert.deepEqual([first?.["scopes"], second?.["principal"]], [["read", "write"], principal]);
});

test("mistakes print a hint, and never a possible token", async () => {
  const skein = skeinIn(makeFolder());
  const token = (await skein.here("tokens", "add", "--scope", "read")).stdout.trim();
  const wrong: [string[], RegExp][] = [
    [["add"], /--scope is required/],
    [["add", "--scope", "raed"], /did you mean read\?/],
    [["add", "--scope", "read", "--reason", "x"], /tokens add: unexpected --reason/],
    [["list", token], /unexpected argument/],
    [["revoke"], /tokens revoke: ID is required/],
    [["revoke", token], /expected a token id/],
    [["revoke", "zzzz"], /there is no token "zzzz"/],
    [["remove", "zzzz"], /ACTION/],
  ];
  for (const [words, about] of wrong) {
    const { code, stderr, stdout } = await skein.here("tokens", ...words);
    assert.notEqual(code, 0, words.join(" "));
    assert.match(stderr, about);
    assert.ok(!`${stderr}${stdout}`.includes(token.slice(-43)));
  }
});
