/** The body that the driver would send for a context, for each wire; nothing goes out. */
import { mock } from "node:test";
import type { ContextPart } from "../../../src/core/context/part.ts";
import { aiSdkModel } from "../../../src/model/ai-sdk.ts";
import type { ProviderApi } from "../../../src/model/prompt.ts";
import { anthropicFlaws } from "./anthropic.ts";
import { geminiFlaws } from "./gemini.ts";
import { completionsFlaws } from "./openai-chat.ts";
import { responsesFlaws } from "./openai-responses.ts";

const wires: Readonly<Record<string, ProviderApi>> = {
  anthropic: "anthropic",
  openai: "openai",
  google: "google",
};
const checkers: Readonly<Record<ProviderApi, (body: unknown) => readonly string[]>> = {
  anthropic: anthropicFlaws,
  openai: responsesFlaws,
  google: geminiFlaws,
  compatible: completionsFlaws,
};

const wireOf = (model: string): ProviderApi => wires[model.split("/")[0] ?? ""] ?? "compatible";

/** What the provider of the model would find wrong with this context. */
export async function flawsOnWire(parts: readonly ContextPart[], model: string): Promise<readonly string[]> {
  return checkers[wireOf(model)](await wireBody(parts, model));
}

async function wireBody(parts: readonly ContextPart[], model: string): Promise<unknown> {
  let body: string | null = null;
  const fetching = mock.method(globalThis, "fetch", async (_: unknown, init?: RequestInit) => {
    body = typeof init?.body === "string" ? init.body : null;
    throw new TypeError("fetch failed");
  });
  try {
    const facts = { windowTokens: 100_000, outputTokensMax: 8_000, images: true, price: null };
    const driver = aiSdkModel({
      name: model,
      wire: wireOf(model),
      url: "http://localhost:9",
      key: "k",
      facts,
    });
    const blob = async (): Promise<Uint8Array> => new Uint8Array([137, 80, 78, 71]);
    const signal = new AbortController().signal;
    await Array.fromAsync(driver.stream({ parts, outputTokensMax: 4_000, blob, signal }));
  } catch (error) {
    if (body === null) throw error;
  } finally {
    fetching.mock.restore();
  }
  if (body === null) throw new Error("the driver sent nothing");
  return JSON.parse(body);
}
