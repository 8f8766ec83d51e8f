/** How calls fail: refused, cut off, drowned in nonsense, left hanging. Each has its name in the port. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import type { ModelErrorKind } from "../../src/model/port.ts";
import { ask, failureOf, isDelta, modelOn, opening, says } from "./drive.ts";
import type { WireAnswer, WireTrouble } from "./wire/format.ts";
import { serverSent } from "./wire/format.ts";
import { startWire, wires, type WireName, type WireReply } from "./wire/server.ts";

const names = Object.keys(wires) as WireName[];
/** For tests of what must not hang. */
const inTime = { timeout: 5_000 };
const answer: WireAnswer = {
  blocks: [
    { type: "reasoning", text: "The file will tell.", seal: "c2VhbGVk" },
    { type: "text", text: "I look at the rates." },
    { type: "call", id: "one", tool: "read", input: '{"path":"rates.json"}' },
  ],
};

async function failing(
  wire: WireName,
  reply: WireReply,
): Promise<readonly [kind: ModelErrorKind, retryAfterMs: number | null]> {
  await using server = await startWire(wire, [reply]);
  const { kind, retryAfterMs } = await failureOf(modelOn(wire, server.url), opening(wire, says("Compute.")));
  assert.equal(server.requests.length, 1, "a driver never tries again by itself");
  return [kind, retryAfterMs];
}

const kinds: Readonly<Record<WireTrouble, ModelErrorKind>> = {
  "rate-limited": "rate-limited",
  overloaded: "overloaded",
  overflow: "overflow",
  "bad-key": "auth",
  "unknown-model": "invalid",
  "bad-request": "invalid",
  failed: "failed",
};

for (const wire of names) {
  describe(`on the wire of ${wire}`, () => {
    test("each refusal in the provider's words has its kind", async () => {
      for (const [trouble, kind] of Object.entries(kinds) as [WireTrouble, ModelErrorKind][]) {
        assert.deepEqual(await failing(wire, { reply: "trouble", trouble }), [kind, null], trouble);
      }
    });

    test("a key that the provider echoes is hidden, in a refusal or in a stream", async () => {
      const key = "key-of-the-test";
      const said = `Incorrect API key provided: ${key} (authorization: Bearer ${key})`;
      const error = { message: said, type: "authentication_error", code: 401, status: "UNAUTHENTICATED" };
      const refused = { reply: "status", status: 401, body: { type: "error", error } } as const;
      const late = wires[wire].lateTrouble;
      const told = JSON.parse(late.slice(late.indexOf("{"))) as Record<string, unknown>;
      const place = Object.values(told).find((value) => Object(value) === value) ?? told;
      Object.assign(place, { message: said });
      const midway = late.slice(0, late.indexOf("{")) + `${JSON.stringify(told)}\n\n`;
      const nonsense = serverSent(`{${"x".repeat(60)} ${key}`);
      const replies: readonly WireReply[] = [
        refused,
        { reply: "stream", texts: [midway] },
        { reply: "stream", texts: [...wires[wire].events(answer).slice(0, 3), midway] },
        { reply: "stream", texts: [nonsense] },
      ];
      for (const [place, reply] of replies.entries()) {
        await using server = await startWire(wire, [reply]);
        const failure = await failureOf(modelOn(wire, server.url), opening(wire, says("Compute.")));
        assert.doesNotMatch(failure.message, /key-of/, `${place}: ${failure.message}`);
        if (place === 0) assert.match(failure.message, /\[key\]/);
      }
    });

    test("every form of Retry-After is understood", async () => {
      const tellings: readonly (readonly [Readonly<Record<string, string>>, number | null])[] = [
        [{ "retry-after": "7" }, 7_000],
        [{ "retry-after": "0.25" }, 250],
        [{ "retry-after-ms": "1234", "retry-after": "2" }, 1_234],
        [{ date: "Sun, 15 Nov 2026 10:00:00 GMT", "retry-after": "Sun, 15 Nov 2026 10:01:30 GMT" }, 90_000],
        [{ date: "Sun, 15 Nov 2026 10:00:00 GMT", "retry-after": "Sun, 15 Nov 2026 09:00:00 GMT" }, 0],
        [{ "retry-after": "soon" }, null],
      ];
      for (const [headers, expected] of tellings) {
        const reply = { reply: "trouble", trouble: "rate-limited", headers } as const;
        assert.deepEqual(await failing(wire, reply), ["rate-limited", expected], JSON.stringify(headers));
      }
      const busy = { reply: "trouble", trouble: "overloaded", headers: { "retry-after": "3" } } as const;
      assert.deepEqual(await failing(wire, busy), ["overloaded", 3_000]);
    });

    test("statuses without a body that makes sense have their kind too", async () => {
      const statuses: readonly (readonly [number, ModelErrorKind])[] = [
        [529, "overloaded"],
        [503, "overloaded"],
        [502, "failed"],
        [500, "failed"],
        [429, "rate-limited"],
        [413, "overflow"],
        [404, "invalid"],
        [403, "auth"],
        [401, "auth"],
        [400, "invalid"],
      ];
      for (const [status, kind] of statuses) {
        for (const body of ["", "<html>nginx</html>", {}]) {
          assert.deepEqual(await failing(wire, { reply: "status", status, body }), [kind, null], `${status}`);
        }
      }
    });

    test("a stream that breaks off anywhere is dropped, whether torn or ended", async () => {
      const unfinished = wires[wire].events(answer).findIndex((event) => endings[wire].test(event));
      assert.ok(unfinished > 3);
      for (let events = 0; events <= unfinished; events++) {
        for (const reply of ["cut", "end"] as const) {
          const told = `${reply} after ${events} events`;
          assert.deepEqual(await failing(wire, { reply, answer, events }), ["dropped", null], told);
        }
      }
    });

    test("a stream cut after the provider has finished is complete", async () => {
      const events = wires[wire].events(answer).length;
      await using server = await startWire(wire, [{ reply: "cut", answer, events }]);
      const heard = ask(modelOn(wire, server.url), opening(wire, says("Compute.")));
      // Where the end of the stream is the only sign of its end, tearing it is not finishing.
      if (wire === "anthropic") assert.equal((await heard).answer.finish, "tool-calls");
      else await assert.rejects(heard, { name: "ModelError", kind: "dropped" });
    });

    test("nonsense is garbled, first thing or midway", async () => {
      const events = wires[wire].events(answer);
      // Gemini's library lets any object pass, for all its fields are optional.
      const objects = wire === "google" ? [] : ['{"neither":"fish"}'];
      for (const nonsense of ["{not json", "[]", '"ping', ...objects].map((text) => serverSent(text))) {
        const texts = [
          [nonsense],
          [...events.slice(0, 3), nonsense, ...events.slice(3)],
          [...events.slice(0, -1), nonsense],
        ];
        for (const [at, stream] of texts.entries()) {
          const reply = { reply: "stream", texts: stream } as const;
          assert.deepEqual(await failing(wire, reply), ["garbled", null], `${nonsense} at ${at}`);
        }
      }
    });

    test("a page where a stream should be is garbled", async () => {
      const headers = { "content-type": "text/html; charset=utf-8" };
      const reply = { reply: "status", status: 200, headers, body: "<html>Sign in</html>" } as const;
      assert.deepEqual(await failing(wire, reply), ["garbled", null]);
    });

    test("an error inside the stream has its kind, first thing or midway", async () => {
      const events = wires[wire].events(answer);
      for (const texts of [[wires[wire].lateTrouble], [...events.slice(0, 6), wires[wire].lateTrouble]]) {
        assert.deepEqual(await failing(wire, { reply: "stream", texts }), ["overloaded", null]);
      }
    });

    test("an interrupt ends a silent call at once", inTime, async () => {
      for (const reply of [{ reply: "silence" }, { reply: "hang", answer, events: 0 }] as const) {
        await using server = await startWire(wire, [reply]);
        const stop = new AbortController();
        const failure = failureOf(modelOn(wire, server.url), opening(wire, says("Compute.")), {
          signal: stop.signal,
        });
        while (server.requests.length === 0) await new Promise((resolve) => void setTimeout(resolve, 2));
        const before = performance.now();
        stop.abort();
        assert.equal((await failure).kind, "interrupted");
        assert.ok(performance.now() - before < 100);
      }
    });

    test("an interrupt ends a stream that has begun at once", inTime, async () => {
      await using server = await startWire(wire, [{ reply: "hang", answer, events: 6 }]);
      const stop = new AbortController();
      const parts = opening(wire, says("Compute."));
      const blob = (): Promise<Uint8Array> => Promise.reject(new Error("no blob is asked for"));
      const call = { parts, outputTokensMax: 100, blob, signal: stop.signal };
      const stream = modelOn(wire, server.url).stream(call);
      assert.equal((await stream.next()).done, false);
      stop.abort();
      await assert.rejects(drain(stream), { name: "ModelError", kind: "interrupted" });
    });

    test("an interrupt before the call keeps it from being sent", async () => {
      await using server = await startWire(wire, []);
      const signal = AbortSignal.abort();
      const failure = await failureOf(modelOn(wire, server.url), opening(wire, says("Go.")), { signal });
      assert.deepEqual([failure.kind, server.requests.length], ["interrupted", 0]);
    });

    test('a refused connection is "dropped"', async () => {
      const url = `http://127.0.0.1:${await freePort()}${wires[wire].base}`;
      const failure = await failureOf(modelOn(wire, url), opening(wire, says("Compute.")));
      assert.equal(failure.kind, "dropped");
    });
  });
}

test("a window that is too small is recognized in the words of many servers", async () => {
  const wordings: readonly (readonly [WireName, number, string])[] = [
    ["anthropic", 400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"],
    [
      "openai",
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in …",
    ],
    [
      "openai",
      429,
      "Request too large for gpt-test in organization org-x on tokens per min (TPM): Limit 30000",
    ],
    ["google", 400, "The input token count exceeds the maximum number of tokens allowed (1048576)."],
    ["compatible", 400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
    ["compatible", 400, "the request exceeds the available context size, try increasing it"],
    ["compatible", 400, "Trying to keep the first 4521 tokens when context the overflows."],
    ["compatible", 500, "Please reduce the length of the messages or completion."],
    ["compatible", 422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens"],
  ];
  for (const [wire, status, message] of wordings) {
    const google = { error: { code: status, message, status: "INVALID_ARGUMENT" } };
    const anthropic = { type: "error", error: { type: "invalid_request_error", message } };
    const body = { google, anthropic, openai: { error: { message } }, compatible: { error: { message } } }[
      wire
    ];
    assert.deepEqual(await failing(wire, { reply: "status", status, body }), ["overflow", null], message);
  }
});

test("an account without money is not worth another try", async () => {
  const message = "You exceeded your current quota, please check your plan and billing details.";
  const body = { error: { message, type: "insufficient_quota", param: null, code: "insufficient_quota" } };
  assert.deepEqual(await failing("openai", { reply: "status", status: 429, body }), ["auth", null]);
});

test("Gemini's body says how long to wait", async () => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
  const body = { error: { code: 429, message: "Slow down.", status: "RESOURCE_EXHAUSTED", details } };
  assert.deepEqual(await failing("google", { reply: "status", status: 429, body }), ["rate-limited", 34_500]);
});

test("a blob that cannot be read fails the call before it is sent", async () => {
  await using server = await startWire("anthropic", []);
  const image = { type: "image", blob: "abc", mediaType: "image/png" } as const;
  const parts = opening("anthropic", { part: "message", role: "user", content: [image] });
  const blob = (): Promise<Uint8Array> => Promise.reject(new Error("the disk is gone"));
  const failure = await failureOf(modelOn("anthropic", server.url), parts, { blob });
  assert.deepEqual([failure.kind, server.requests.length], ["failed", 0]);
});

test("an interrupt does not wait for a blob", inTime, async () => {
  await using server = await startWire("anthropic", []);
  const image = { type: "image", blob: "abc", mediaType: "image/png" } as const;
  const parts = opening("anthropic", { part: "message", role: "user", content: [image] });
  const stop = new AbortController();
  const blob = (): Promise<Uint8Array> => {
    queueMicrotask(() => stop.abort());
    return new Promise(() => {});
  };
  const failure = await failureOf(modelOn("anthropic", server.url), parts, { blob, signal: stop.signal });
  assert.deepEqual([failure.kind, server.requests.length], ["interrupted", 0]);
});

test("a call that failed hangs up, whatever else the provider has to say", inTime, async () => {
  for (const wire of names) {
    const gone = Promise.withResolvers<void>();
    const texts = [wires[wire].lateTrouble];
    await using server = await startWire(wire, [{ reply: "stream", texts, onClose: gone.resolve }]);
    const failure = await failureOf(modelOn(wire, server.url), opening(wire, says("Compute.")));
    assert.equal(failure.kind, "overloaded");
    await gone.promise;
  }
});

test("a caller that stops reading closes the connection", inTime, async () => {
  for (const wire of names) {
    const gone = Promise.withResolvers<void>();
    await using server = await startWire(wire, [{ reply: "hang", answer, events: 6, onClose: gone.resolve }]);
    const signal = new AbortController().signal;
    const blob = (): Promise<Uint8Array> => Promise.reject(new Error("no blob is asked for"));
    const parts = opening(wire, says("Compute."));
    const stream = modelOn(wire, server.url).stream({ parts, outputTokensMax: 100, blob, signal });
    for await (const one of stream) if (isDelta(one)) break;
    await gone.promise;
  }
});

/** The event with which a provider ends its answer. */
const endings: Readonly<Record<WireName, RegExp>> = {
  anthropic: /message_stop/,
  openai: /response\.completed/,
  compatible: /"finish_reason":"tool_calls"/,
  google: /finishReason/,
};

async function drain(stream: AsyncGenerator): Promise<void> {
  while ((await stream.next()).done !== true);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}
