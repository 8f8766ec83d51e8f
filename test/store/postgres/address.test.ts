/** Addresses of stores in PostgreSQL: what one says, and what is wrong with one, without its password. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { addressWith, parseAddress, tenantAt } from "../../../src/store/postgres/connection/address.ts";

function said(place: string): readonly unknown[] {
  try {
    return [parseAddress(place).shown];
  } catch (error) {
    assert.ok(error instanceof SkeinError);
    return [error.code, error.message, error.hint];
  }
}

test("an address is taken with an encoded password, and shown without it", () => {
  assert.deepEqual(parseAddress("postgres://u:50%25%23@db:5433/skein?tenant=acme&connections=3"), {
    url: "postgres://u:50%25%23@db:5433/skein",
    shown: "postgres://u@db:5433/skein?tenant=acme&connections=3",
    tenant: "acme",
    hosts: [],
    connections: 3,
    pooled: false,
  });
  assert.deepEqual(said("postgres://u:secret@[::1]:5432/skein"), ["postgres://u@[::1]:5432/skein"]);
  assert.deepEqual(said("postgres://u:99999@db/skein"), ["postgres://u@db/skein"]);
});

test("several hosts are taken, each with its port or without", () => {
  const place = "postgres://u:secret@db1:5433,db2,[::1]:6000/skein?tenant=a&target_session_attrs=read-write";
  const { hosts, shown, tenant, url } = parseAddress(place);
  assert.deepEqual(hosts, [
    { host: "db1", port: 5433 },
    { host: "db2", port: 5432 },
    { host: "::1", port: 6000 },
  ]);
  assert.equal(tenant, "a");
  assert.equal(url, "postgres://u:secret@db1:5433/skein");
  assert.equal(shown, "postgres://u@db1:5433,db2,[::1]:6000/skein?tenant=a&target_session_attrs=read-write");
  assert.equal(tenantAt(place), "a");
  assert.match(addressWith(place, "b"), /^postgres:\/\/u:secret@db1:5433,db2,\[::1\]:6000\/skein\?tenant=b/);
  for (const wrong of ["db1,:5432", "db1,", "db1,db2:0", "db1,db2:70000", "db1,a b"])
    assert.throws(() => parseAddress(`postgres://u:secret@${wrong}/skein`), { code: "invalid" }, wrong);
  assert.throws(() => parseAddress("postgres://a,b/skein?target_session_attrs=standby"), {
    message: /target_session_attrs="standby" is not supported/,
  });
});

test("an invalid URL is reported, without its password", () => {
  const percent = ["invalid", "store URL: invalid percent-encoding", "encode % as %25, or set PGPASSWORD"];
  assert.deepEqual(said("postgres://u:50%@db/skein"), percent);
  assert.deepEqual(said("postgres://u:%ff@db/skein"), percent);
  const sharp = ["invalid", "store URL: # starts a fragment", "encode # in a password as %23"];
  assert.deepEqual(said("postgres://u:secret@db/skein#part"), sharp);
  assert.deepEqual(said("postgres://u:secret@db/skein#"), sharp);
  const port = ["invalid", "store URL: port: out of range", "expected 1 to 65535"];
  for (const number of ["0", "65536", "543210"])
    assert.deepEqual(said(`postgres://u:secret@db:${number}/skein`), port);
  assert.deepEqual(said("postgres://u:secret@db/skein?tenant=a&tenant=b"), [
    "invalid",
    'store URL: parameter "tenant" is given twice: postgres://u@db/skein?tenant=a&tenant=b',
    "remove one of them",
  ]);
});
