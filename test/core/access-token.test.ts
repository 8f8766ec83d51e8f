/** Access tokens: one spelling each, nothing else is one, and what scopes allow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  accessTokenText,
  allows,
  isScope,
  parseAccessToken,
  scopes,
  secretBytes,
  withoutTokens,
  type AccessToken,
} from "../../src/core/workspace/access-token.ts";

const id = "tok_0123456789abcdefghjkmnpqrs" as AccessToken["id"];
const secret = Buffer.alloc(secretBytes, 251).toString("base64url");
const textOf = (tenant: string): string => accessTokenText({ tenant, id, secret });

test("a token is read back as it was written, whatever its tenant's name", () => {
  assert.equal(secret.length, 43);
  for (const tenant of ["default", "a", "a.b_c-d", "0", "x".repeat(63), "team-7"])
    assert.deepEqual(parseAccessToken(textOf(tenant)), { tenant, id, secret }, tenant);
  const encoded = Buffer.from("default").toString("base64url");
  assert.equal(textOf("default"), `skn_${encoded}_${id.slice(4)}_${secret}`);
});

test("nothing else is a token", () => {
  const text = textOf("default");
  const others: readonly unknown[] = [
    undefined,
    null,
    7,
    [text],
    "",
    "skn_",
    text.slice(0, -1),
    `${text}A`,
    ` ${text}`,
    `${text}\n`,
    text.replace("skn_", "SKN_"),
    text.replace(id.slice(4), id.slice(4).toUpperCase()),
    textOf(""),
    textOf("x".repeat(64)),
    textOf("-a"),
    textOf("a b"),
    textOf("a/b"),
    "x".repeat(10_000),
  ];
  for (const other of others) assert.equal(parseAccessToken(other), null, String(other));
});

test("a tenant's name has one spelling: bits that base64 leaves free are not free", () => {
  // "a" is "YQ"; "YR" decodes to the same letter.
  const text = textOf("a");
  assert.ok(text.startsWith("skn_YQ_"));
  assert.equal(parseAccessToken(text.replace("skn_YQ_", "skn_YR_")), null);
});

test("a scope allows itself, and admin allows all", () => {
  for (const needed of scopes) {
    for (const given of scopes)
      assert.equal(allows([given], needed), given === needed || given === "admin", `${given} ${needed}`);
    assert.equal(allows([], needed), false);
    assert.ok(allows(["read", "write", "operate", "admin"], needed));
  }
  for (const scope of scopes) assert.ok(isScope(scope));
  for (const other of ["", "Read", "root", 1, undefined, null, ["read"]]) assert.ok(!isScope(other));
});

test("tokens are taken out of a text, also broken-off ones", () => {
  const text = textOf("default");
  assert.equal(withoutTokens(`a ${text}, b ${text.slice(0, 30)} c`), "a skn_…, b skn_… c");
  assert.equal(withoutTokens("skn_short is no token"), "skn_short is no token");
});
