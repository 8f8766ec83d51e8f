/** The names of speakers: the agent, or without one the model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { modelTitle, speakerName } from "../../src/console/ui/speaker.ts";

test("a model is shown by its title, without its provider", () => {
  const titles = {
    "anthropic/claude-sonnet-5-5": "Claude Sonnet 5.5",
    "anthropic/claude-haiku-4-5-20251001": "Claude Haiku 4.5",
    "google/gemini-3.8-flash": "Gemini 3.8 Flash",
    "openai/gpt-6.1-sol": "gpt-6.1-sol",
    "offline/offline": "Offline model",
    "ollama/llama3:8b": "llama3:8b",
  };
  assert.deepEqual(Object.fromEntries(Object.keys(titles).map((name) => [name, modelTitle(name)])), titles);
});

test("the agent speaks under its name, a session without one under its model's", () => {
  assert.equal(speakerName("payroll@2", "offline/offline"), "payroll@2");
  assert.equal(speakerName("payroll@0", "offline/offline"), "payroll");
  assert.equal(speakerName("default", "openai/gpt-6.1-sol"), "gpt-6.1-sol");
  assert.equal(speakerName("default@0", "anthropic/claude-sonnet-5-5"), "Claude Sonnet 5.5");
  assert.equal(speakerName(null, null), "Model");
});
