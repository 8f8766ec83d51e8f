/** Models by name: from the catalogue, the environment and the configuration, with clear words when not. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { SkeinError, type ErrorCode } from "../../src/core/error.ts";
import { parseModelConfig, PriceSchema, type ModelConfig } from "../../src/model/model-config.ts";
import { makeModels } from "../../src/model/models.ts";
import { agentRules } from "../../src/core/workspace/agent.ts";
import { readZone } from "../../src/core/context/zone.ts";
import catalogue from "../../src/model/models.json" with { type: "json" };
import type { Model, Models } from "../../src/model/port.ts";
import { ask, says } from "./drive.ts";
import { startWire, type WireName } from "./wire/server.ts";

const offline: Model = {
  name: "offline/offline",
  facts: catalogue.models["offline/offline"],
  stream: () => {
    throw new Error("nobody calls it here");
  },
};
type Env = Readonly<Record<string, string>>;
const models = (env: Env = {}, config: ModelConfig = {}): Models => makeModels({ env, config, offline });

async function refusal(promise: Promise<unknown>): Promise<readonly [ErrorCode, string, string | undefined]> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SkeinError);
  return [error.code, error.message, error.hint];
}

describe("the default model", () => {
  const keys = {
    anthropic: "ANTHROPIC_API_KEY",
    openai: "OPENAI_API_KEY",
    google: "GEMINI_API_KEY",
  } as const;

  test("is of the first provider with a key, else the offline one", () => {
    const { anthropic, openai, google } = keys;
    assert.equal(models().byDefault, "offline/offline");
    assert.equal(models({ [google]: "g" }).byDefault, catalogue.defaults.google);
    assert.equal(models({ GOOGLE_GENERATIVE_AI_API_KEY: "g" }).byDefault, catalogue.defaults.google);
    assert.equal(models({ [google]: "g", [openai]: "o" }).byDefault, catalogue.defaults.openai);
    const all = { [google]: "g", [openai]: "o", [anthropic]: "a" };
    assert.equal(models(all).byDefault, catalogue.defaults.anthropic);
    assert.equal(models({ ...all, [anthropic]: " " }).byDefault, catalogue.defaults.openai);
  });

  test("is the configured one if there is one; a configured key counts like one of the environment", () => {
    assert.equal(models({ OPENAI_API_KEY: "o" }, { model: "ollama/llama3" }).byDefault, "ollama/llama3");
    assert.equal(models({}, { providers: { openai: { key: "o" } } }).byDefault, catalogue.defaults.openai);
  });

  test("is in the catalogue for every provider", () => {
    for (const name of Object.values(catalogue.defaults)) assert.ok(Object.hasOwn(catalogue.models, name));
  });
});

describe("a model by name", () => {
  test("is refused with the nearest name for an unknown provider", async () => {
    assert.deepEqual(await refusal(models().model("antropic/claude-opus-5")), [
      "invalid",
      'model: unknown provider "antropic"',
      'did you mean "anthropic"?',
    ]);
    assert.deepEqual(await refusal(models().model("zzz/llama")), [
      "invalid",
      'model: unknown provider "zzz"',
      "known providers: anthropic, openai, google, offline",
    ]);
    const [, , hint] = await refusal(models().model("offline/ofline"));
    assert.equal(hint, 'did you mean "offline/offline"?');
  });

  test("may be of a provider that only the environment knows", async () => {
    const reply = { reply: "answer", answer: { blocks: [{ type: "text", text: "Yes." }] } } as const;
    await using server = await startWire("compatible", () => reply);
    const env = { MY_SERVER_BASE_URL: server.url, MY_SERVER_API_KEY: "key-one" };
    await ask(await models(env).model("my-server/llama"), [says("Are you there?")]);
    assert.equal(server.requests[0]!.headers["authorization"], "Bearer key-one");
    await ask(await models({ MINE_BASE_URL: server.url }).model("mine/llama"), [says("And you?")]);
    assert.equal(server.requests[1]!.headers["authorization"], undefined);
    assert.equal((await refusal(models({ MINE_BASE_URL: " " }).model("mine/llama")))[0], "invalid");
    assert.deepEqual(await refusal(models({ OFFLINE_BASE_URL: server.url }).model("offline/other")), [
      "invalid",
      'model: unknown provider "offline"',
      'did you mean "offline/offline"?',
    ]);
    const config = '{"model":"mine/llama","providers":{"mine":{"key":"key-two"}}}';
    assert.equal(parseModelConfig(config, "a", { MINE_BASE_URL: server.url }).model, "mine/llama");
    assert.throws(() => parseModelConfig(config, "a"), /providers\.mine\.url: missing/);
  });

  test("is refused with the name of the variable where a key is missing", async () => {
    const cases = [
      ["anthropic/claude-opus-5", "ANTHROPIC_API_KEY", "anthropic"],
      ["openai/gpt-5", "OPENAI_API_KEY", "openai"],
      ["google/gemini-4", "GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY", "google"],
    ] as const;
    for (const [name, variable, provider] of cases) {
      assert.deepEqual(await refusal(models().model(name)), [
        "unavailable",
        `${name}: API key missing`,
        `set ${variable}, or providers.${provider}.key in the configuration`,
      ]);
    }
  });

  test("is refused when it is not a valid name", async () => {
    assert.deepEqual(await refusal(models().model("claude-opus-5-5")), [
      "invalid",
      'model: expected "provider/model", got "claude-opus-5-5"',
      'did you mean "anthropic/claude-opus-5-5"?',
    ]);
    const [, , near] = await refusal(models().model("gpt-4"));
    assert.equal(near, 'did you mean "openai/gpt-4.1"?');
    for (const name of ["", "/", "openai/", "/gpt-5"]) {
      assert.equal((await refusal(models().model(name)))[0], "invalid", name);
    }
  });

  test("is refused where its provider's address is none", async () => {
    const env = { OPENAI_API_KEY: "o", OPENAI_BASE_URL: "localhost:8080" };
    assert.deepEqual(await refusal(models(env).model("openai/gpt-5")), [
      "invalid",
      'provider "openai": url: expected an http:// or https:// URL, got "localhost:8080"',
      "for example http://localhost:8080/v1",
    ]);
  });

  test("is the offline one itself", async () => {
    assert.equal(await models().model("offline/offline"), offline);
  });

  test("is called where the environment or the configuration says, with the key from there", async () => {
    const cases: readonly (readonly [
      WireName,
      string,
      string,
      string,
      "authorization" | "x-api-key" | "x-goog-api-key",
    ])[] = [
      ["anthropic", "anthropic/claude-x", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "x-api-key"],
      ["openai", "openai/gpt-x", "OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization"],
      ["google", "google/gemini-x", "GOOGLE_GENERATIVE_AI_BASE_URL", "GEMINI_API_KEY", "x-goog-api-key"],
      ["compatible", "my-server/llama/3:8b", "MY_SERVER_BASE_URL", "MY_SERVER_API_KEY", "authorization"],
    ];
    for (const [wire, name, urlVariable, keyVariable, header] of cases) {
      const reply = { reply: "answer", answer: { blocks: [{ type: "text", text: "Yes." }] } } as const;
      await using server = await startWire(wire, () => reply);
      const provider = name.split("/")[0]!;
      const local = { providers: { "my-server": { url: "http://127.0.0.1:9" } } };
      const byEnv = models({ [urlVariable]: server.url, [keyVariable]: "key-one" }, local);
      const byConfig = models({}, { providers: { [provider]: { url: server.url, key: "key-two" } } });
      for (const from of [byEnv, byConfig]) await ask(await from.model(name), [says("Are you there?")]);
      const keys = server.requests.map(({ headers }) => String(headers[header]).replace("Bearer ", ""));
      assert.deepEqual(keys, ["key-one", "key-two"]);
      const asked = server.requests[0]!.body["model"] ?? "in the path";
      assert.equal(asked, wire === "google" ? "in the path" : name.slice(provider.length + 1));
    }
  });

  test("of a local server needs no key, and none is sent", async () => {
    const reply = { reply: "answer", answer: { blocks: [{ type: "text", text: "Yes." }] } } as const;
    await using server = await startWire("compatible", [reply]);
    const local = models({}, { providers: { ollama: { url: server.url } } });
    await ask(await local.model("ollama/llama3"), [says("Are you there?")]);
    assert.equal(server.requests[0]!.headers["authorization"], undefined);
  });

  test("is found at an address without a version, as other programs take it", async () => {
    for (const [wire, name, urlVariable, keyVariable] of [
      ["anthropic", "anthropic/claude-x", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"],
      ["google", "google/gemini-x", "GOOGLE_GENERATIVE_AI_BASE_URL", "GEMINI_API_KEY"],
    ] as const) {
      const reply = { reply: "answer", answer: { blocks: [{ type: "text", text: "Yes." }] } } as const;
      await using server = await startWire(wire, [reply]);
      const url = `${new URL(server.url).origin}/`;
      const model = await models({ [urlVariable]: url, [keyVariable]: "k" }).model(name);
      assert.equal((await ask(model, [says("Are you there?")])).answer.finish, "stop");
    }
  });
});

describe("what is known of a model", () => {
  const env = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" };

  test("comes from the catalogue, also for a dated name", async () => {
    const { note: _, ...listed } = catalogue.models["anthropic/claude-haiku-5-5"];
    const haiku = { ...listed, effective: catalogue.effective };
    assert.deepEqual((await models(env).model("anthropic/claude-haiku-5-5")).facts, haiku);
    assert.deepEqual((await models(env).model("anthropic/claude-haiku-5-5-20261007")).facts, haiku);
    const sol = (await models(env).model("openai/gpt-6.1-sol-2026-09-29")).facts;
    assert.equal(sol.price?.input, 2_000);
  });

  test("is a safe estimate for an unlisted model, and its price is unknown", async () => {
    const { facts } = await models(env).model("openai/gpt-99");
    assert.deepEqual(facts, { ...catalogue.unlisted.known, effective: catalogue.effective, price: null });
    const local = models({}, { providers: { ollama: { url: "http://127.0.0.1:9/v1" } } });
    const { facts: guessed } = await local.model("ollama/llama3");
    assert.deepEqual(guessed, {
      ...catalogue.unlisted.compatible,
      effective: catalogue.effective,
      price: null,
    });
  });

  test("is overridden by the configuration, field by field", async () => {
    const price = { input: 1, output: 2, asOf: "2026-11-14" };
    const config = {
      models: { "openai/gpt-4.1": { windowTokens: 10_000, price }, "openai/gpt-99": { price: null } },
    };
    const { facts } = await models(env, config).model("openai/gpt-4.1");
    // The file's own, since the configuration names none.
    const { effective } = catalogue.models["openai/gpt-4.1"];
    assert.deepEqual(facts, {
      windowTokens: 10_000,
      effective,
      outputTokensMax: 10_000,
      images: true,
      price,
    });
    const { facts: other } = await models(env, { models: { "openai/gpt-4.1": { price: null } } }).model(
      "openai/gpt-4.1",
    );
    assert.deepEqual([other.windowTokens, other.price], [1_047_576, null]);
  });

  test("is listed with the missing key", () => {
    const config: ModelConfig = {
      providers: { ollama: { url: "http://127.0.0.1:9/v1" } },
      models: { "ollama/llama3": { windowTokens: 8_192 }, "gone/model": {} },
    };
    const list = models({ OPENAI_API_KEY: "o" }, config).list();
    const shown = new Map(list.map(({ name, ready, hint }) => [name, [ready, hint]]));
    assert.equal(shown.size, list.length);
    assert.deepEqual(shown.get("openai/gpt-6.1-sol"), [true, null]);
    assert.deepEqual(shown.get("offline/offline"), [true, null]);
    assert.deepEqual(shown.get("ollama/llama3"), [true, null]);
    assert.deepEqual(shown.get("gone/model"), [false, "its provider is not configured"]);
    const [isReady, hint] = shown.get("anthropic/claude-opus-5-5")!;
    assert.deepEqual([isReady, /ANTHROPIC_API_KEY/.test(String(hint))], [false, true]);
    const llama = list.find(({ name }) => name === "ollama/llama3");
    assert.deepEqual(llama?.facts, {
      windowTokens: 8_192,
      effective: catalogue.effective,
      outputTokensMax: 4_096,
      images: false,
      price: null,
    });
  });

  test("says up to which length it works well, and where that is from; 120,000 tokens strain each", () => {
    const measured = { tokens: 6_000, source: "our own test" };
    const list = models({}, { models: { "openai/gpt-4.1": { effective: measured } } }).list();
    for (const { name, facts } of list) {
      if (name === "openai/gpt-4.1") assert.deepEqual(facts.effective, measured);
      else if (facts.effective !== undefined) assert.match(facts.effective.source, /^rule: /, name);
      const { zones } = agentRules(null, facts.effective?.tokens);
      const { windowTokens } = facts;
      const reading = readZone({ tokens: 120_000, windowTokens, turns: 40, ageMs: 3 * 3_600_000 }, zones);
      assert.notEqual(reading.zone, "smart", name);
    }
    const published = models()
      .list()
      .find(({ name }) => name === "openai/gpt-4.1");
    assert.equal(published?.facts.effective?.tokens, 16_000);
    assert.match(published.facts.effective.source, /^NoLiMa .* read \d{4}-\d\d-\d\d/);
    const own = { name: "a", instructions: "Work.", zones: { strained: { tokens: 50_000 } } };
    assert.equal(agentRules(own, 6_000).zones.strained.tokens, 50_000);
    assert.equal(agentRules(null, 6_000).zones.strained.tokens, 6_000);
    assert.equal(agentRules(null).zones.strained.tokens, 100_000);
  });

  test("is listed for a whole server whose models are not listed", () => {
    const config: ModelConfig = { providers: { local: { url: "http://127.0.0.1:9/v1" } } };
    const env = {
      FAKE_BASE_URL: "http://127.0.0.1:8/v1",
      FAKE_API_KEY: "f",
      WEB_BASE_URL: "http://127.0.0.1:7",
      OPENAI_BASE_URL: "http://127.0.0.1:6",
    };
    const servers = models(env, config)
      .list()
      .filter(({ url }) => url !== undefined);
    assert.deepEqual(
      servers.map(({ name, ready, hint, url }) => [name, ready, hint, url]),
      [
        ["local/*", true, null, "http://127.0.0.1:9/v1"],
        ["fake/*", true, null, "http://127.0.0.1:8/v1"],
      ],
    );
  });

  test("is sound for every model of the catalogue", () => {
    const entries = Object.entries(catalogue.models);
    assert.ok(entries.length > 10);
    for (const [name, { windowTokens, outputTokensMax, price }] of entries) {
      assert.match(name, /^(anthropic|openai|google|offline)\/[a-z0-9.-]+$/);
      assert.ok(outputTokensMax > 0 && outputTokensMax <= windowTokens, name);
      const { input, output, ...rest } = PriceSchema.parse(price);
      assert.ok(output >= input && (rest.cachedInput ?? 0) <= input, name);
      assert.equal(input === 0, name === "offline/offline", "only the offline model costs nothing");
    }
  });
});

describe("the configuration", () => {
  const parse = (config: unknown): ModelConfig => parseModelConfig(JSON.stringify(config), "skein.json");
  const complaint = (text: string): readonly [string, string | undefined] => {
    try {
      parseModelConfig(text, "skein.json");
    } catch (error) {
      assert.ok(error instanceof SkeinError && error.code === "invalid");
      return [error.message, error.hint];
    }
    throw new Error(`accepted ${text}`);
  };

  test("is what it says", () => {
    const config = {
      model: "ollama/llama3",
      providers: { ollama: { url: "http://localhost:11434/v1" }, openai: { key: "sk-x" } },
      models: {
        "ollama/llama3": {
          windowTokens: 8_192,
          outputTokensMax: 2_048,
          images: false,
          price: { input: 0, output: 0, asOf: "2026-11-01" },
        },
      },
    };
    assert.deepEqual(parse(config), config);
    assert.deepEqual(parse({}), {});
  });

  test("is refused with the place and the right spelling", () => {
    const cases: readonly (readonly [unknown, string, string | undefined])[] = [
      [{ modle: "a/b" }, 'unknown field "modle"', 'did you mean "model"?'],
      [
        { providers: { ollama: { uri: "x" } } },
        'unknown field "providers.ollama.uri"',
        'did you mean "url"?',
      ],
      [
        { models: { "openai/x": { windowToken: 1 } } },
        'unknown field "models.openai/x.windowToken"',
        'did you mean "windowTokens"?',
      ],
      [
        { models: { "openai/x": { price: { input: 1, output: 1, asOf: "2026-01-01", cached: 1 } } } },
        'unknown field "models.openai/x.price.cached"',
        "known fields: input, output, cachedInput, cacheWrite, asOf",
      ],
      [
        { providers: { Ollama: { url: "http://x" } } },
        'providers: invalid name "Ollama"',
        "a provider name has lower-case letters, digits and dashes",
      ],
      [
        { models: { llama: {} } },
        'models: invalid name "llama"',
        'a model name has the form "provider/model"',
      ],
      [{ providers: { openia: { key: "x" } } }, "providers.openia.url: missing", 'did you mean "openai"?'],
      [
        { models: { "olama/x": {} }, providers: { ollama: { url: "http://localhost/v1" } } },
        'model "olama/x": its provider is not configured',
        'did you mean "ollama"?',
      ],
      [
        { model: "gpt-5" },
        'model "gpt-5": its provider is not configured',
        "known providers: anthropic, openai, google, offline",
      ],
      [{ providers: { offline: {} } }, "providers.offline: the offline model has no settings", undefined],
    ];
    for (const [config, message, hint] of cases) {
      assert.deepEqual(complaint(JSON.stringify(config)), [`skein.json: ${message}`, hint]);
    }
  });

  test("is refused when it is not JSON, not an object, or has invalid values", () => {
    assert.match(complaint("{ model: 1 }")[0], /^skein\.json: invalid JSON: /);
    for (const config of [
      [],
      "text",
      { model: 1 },
      { providers: { a: { url: "ftp://x" } } },
      { providers: { a: { url: "nowhere" } } },
      { models: { "openai/x": { windowTokens: 0 } } },
      { models: { "openai/x": { windowTokens: 1.5 } } },
      { models: { "openai/x": { price: { input: -1, output: 1, asOf: "2026-01-01" } } } },
      { models: { "openai/x": { price: { input: 1, output: 1, asOf: "today" } } } },
      { models: { "openai/x": { price: { input: 1, output: 1 } } } },
    ]) {
      assert.match(complaint(JSON.stringify(config))[0], /^skein\.json: /, JSON.stringify(config));
    }
  });
});

test("the error of a provider that refuses the key names where to set it", async () => {
  const server = createServer((_, response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end('{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const env = { ANTHROPIC_API_KEY: "wrong", ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` };
  const model = await models(env).model("anthropic/claude-sonnet-5");
  const signal = new AbortController().signal;
  const blob = (): Promise<Uint8Array> => Promise.reject(new Error("no blob is asked for"));
  const message = { part: "message", role: "user", content: [{ type: "text", text: "hi" }] } as const;
  const stream = model.stream({ parts: [message], outputTokensMax: 10, blob, signal });
  try {
    await assert.rejects(async () => {
      while ((await stream.next()).done !== true);
    }, /invalid x-api-key; to use another key, set ANTHROPIC_API_KEY, or providers\.anthropic\.key/);
  } finally {
    server.close();
  }
});
