/** What an error says of whether a request was sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isUnsent } from "../../src/core/unsent-request.ts";

const failed = (fields: object, message = "failed"): Error => Object.assign(new Error(message), fields);
const fetchFailed = (cause: unknown): Error => new TypeError("fetch failed", { cause });

test("a request is unsent only where the connection was never made", () => {
  const unsent = [
    { code: "ECONNREFUSED", syscall: "connect" },
    { code: "EHOSTUNREACH", syscall: "connect" },
    { code: "ENOTFOUND", syscall: "getaddrinfo" },
    { code: "UND_ERR_CONNECT_TIMEOUT" },
    { code: "ECONNREFUSED", errors: [failed({ code: "ECONNREFUSED", syscall: "connect" })] },
  ];
  for (const fields of unsent) {
    assert.equal(isUnsent(failed(fields)), true, JSON.stringify(fields));
    assert.equal(isUnsent(fetchFailed(failed(fields))), true, JSON.stringify(fields));
  }
  const sent = [
    { code: "ECONNREFUSED", syscall: "read" },
    { code: "EHOSTUNREACH", syscall: "read" },
    { code: "ENETUNREACH", syscall: "write" },
    { code: "EPIPE", syscall: "write" },
    { code: "ETIMEDOUT", syscall: "read" },
    { code: "ECONNREFUSED", errors: [failed({ code: "ECONNREFUSED", syscall: "read" })] },
    { code: "UND_ERR_SOCKET" },
    {},
  ];
  for (const fields of sent) {
    assert.equal(isUnsent(failed(fields)), false, JSON.stringify(fields));
    assert.equal(isUnsent(fetchFailed(failed(fields))), false, JSON.stringify(fields));
  }
  assert.equal(isUnsent("ECONNREFUSED"), false);
});
