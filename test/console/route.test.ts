/** Addresses: what each shows, and that none breaks the page. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { routeOf, sessionPath, withParams } from "../../src/console/route.ts";

const shown = (address: string): unknown => {
  const { params, ...rest } = routeOf(address);
  return { ...rest, params: Object.fromEntries(params) };
};

test("a URL names the view", () => {
  assert.deepEqual(shown("/?status=open"), { at: "sessions", params: { status: "open" } });
  assert.deepEqual(shown("/s/abc?at=7"), {
    at: "session",
    id: "abc",
    aspect: "transcript",
    params: { at: "7" },
  });
  assert.deepEqual(shown("/s/abc/log"), { at: "session", id: "abc", aspect: "log", params: {} });
  assert.deepEqual(shown("/agents/clerk"), { at: "agents", name: "clerk", params: {} });
  for (const lost of ["/s", "/s/a/b/c", "/s/a/nothing", "/elsewhere", "/agents/a/b"])
    assert.deepEqual(shown(lost), { at: "nowhere", params: {} });
});

test('any URL leads to a view or to "not found"', () => {
  fc.assert(
    fc.property(fc.webPath(), fc.string(), (path, more) => {
      assert.equal(typeof routeOf(`${path}?q=${encodeURIComponent(more)}`).at, "string");
    }),
  );
  assert.equal(routeOf("/s/%E0%A4%A").at, "session");
});

test("an address that is made is read as it was meant", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.nat(), (id, at) => {
      fc.pre(id.isWellFormed() && ![".", ".."].includes(id));
      assert.deepEqual(shown(sessionPath(id, "family", { at })), {
        at: "session",
        id,
        aspect: "family",
        params: { at: String(at) },
      });
    }),
  );
  assert.equal(withParams("/", { q: "", status: null, agent: undefined }), "/");
});
