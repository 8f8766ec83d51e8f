/** Addresses of stores in PostgreSQL: what one says, and what is wrong with one, without its password. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";

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
    connections: 3,
    pooled: false,
  });
  assert.deepEqual(said("postgres://u:secret@[::1]:5432/skein"), ["postgres://u@[::1]:5432/skein"]);
  assert.deepEqual(said("postgres://u:99999@db/skein"), ["postgres://u@db/skein"]);
});

test("what is wrong with an address is told, and never its password", () => {
  const percent = [
    "invalid",
    "the address of the store has a % that stands for nothing",
    "write % as %25, or give the password in PGPASSWORD",
  ];
  assert.deepEqual(said("postgres://u:50%@db/skein"), percent);
  assert.deepEqual(said("postgres://u:%ff@db/skein"), percent);
  const sharp = [
    "invalid",
    "the address of the store has a #, which ends it",
    "in a password, write # as %23",
  ];
  assert.deepEqual(said("postgres://u:secret@db/skein#part"), sharp);
  assert.deepEqual(said("postgres://u:secret@db/skein#"), sharp);
  const port = ["invalid", "the address of the store has a port that cannot be", "from 1 to 65535"];
  for (const number of ["0", "65536", "543210"])
    assert.deepEqual(said(`postgres://u:secret@db:${number}/skein`), port);
  assert.deepEqual(said("postgres://u:secret@db/skein?tenant=a&tenant=b"), [
    "invalid",
    'the address says "tenant" more than once: postgres://u@db/skein?tenant=a&tenant=b',
    "say it once",
  ]);
});
