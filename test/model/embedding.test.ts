/** Embedding models of a configuration: the provider's package asks the provider's server. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { parseModelConfig } from "../../src/model/model-config.ts";
import { makeModels } from "../../src/model/models.ts";
import { offlineModel } from "../../src/model/offline.ts";
import type { Embedder } from "../../src/model/port.ts";

const { signal } = new AbortController();

function configured(config: object, env: Readonly<Record<string, string>> = {}): Embedder | undefined {
  const parsed = parseModelConfig(JSON.stringify(config), "config.json", env);
  return makeModels({ env, config: parsed, offline: offlineModel() }).embedder;
}

test("the configured embedding model is called at its provider, in batches, with its key", async (t) => {
  const asked: { readonly path: string; readonly key: string; readonly texts: number }[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { input } = JSON.parse(text) as { readonly input: readonly string[] };
    asked.push({ path: request.url ?? "", key: request.headers.authorization ?? "", texts: input.length });
    const data = input.map((one, index) => ({ object: "embedding", index, embedding: [one.length, 1] }));
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", model: "m", data, usage }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1`;
  const texts = Array.from({ length: 150 }, (_, place) => "x".repeat(place + 1));
  for (const name of ["openai", "local"]) {
    const embedder = configured({
      embeddingModel: `${name}/small`,
      providers: { [name]: { url, key: "sk-test-key" } },
    });
    assert.equal(embedder?.name, `${name}/small`);
    const vectors = await embedder?.embed(texts, signal);
    assert.deepEqual(
      vectors?.map(([length]) => length),
      texts.map(({ length }) => length),
    );
  }
  assert.deepEqual(
    asked.map(({ path, key, texts: count }) => [path, key, count]),
    [100, 50, 100, 50].map((count) => ["/v1/embeddings", "Bearer sk-test-key", count]),
  );
});

test("without one there is none; one that cannot be used says why when it is needed", async () => {
  assert.equal(configured({}), undefined);
  const anthropic = configured({ embeddingModel: "anthropic/any" }, { ANTHROPIC_API_KEY: "sk-test-key" });
  await assert.rejects(async () => anthropic?.embed(["x"], signal), /anthropic has no embedding models/);
  const keyless = configured({ embeddingModel: "openai/small" });
  await assert.rejects(async () => keyless?.embed(["x"], signal), {
    message: /openai\/small cannot be used/,
    hint: /OPENAI_API_KEY/,
  });
  assert.throws(() => configured({ embeddingModel: "small" }), /embeddingModel: expected provider\/model/);
});
