/** Calls tools as the runtime does: arguments checked first, a key, a signal. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OuterTool, Tool } from "../../src/tool/port.ts";
import { ToolOutput } from "../../src/tool/port.ts";

export interface Called {
  readonly text: string;
  readonly detail?: unknown;
  readonly images?: readonly string[];
  readonly isError?: true;
}

export const key = "0123456789abcdef".repeat(4);

export function outerTool(tools: readonly Tool[], name: string): OuterTool {
  const tool = tools.find((one) => one.name === name);
  assert.ok(tool !== undefined && tool.effect !== "session", `there is a tool ${name}`);
  return tool;
}

export async function callTool(
  tools: readonly Tool[],
  name: string,
  input: unknown,
  signal: AbortSignal = new AbortController().signal,
): Promise<Called> {
  const tool = outerTool(tools, name);
  const checked = await tool.check(input);
  if (!checked.ok) throw new Error(checked.message);
  const output = await tool.run(checked.value, { key, session: "ses_test", seq: 7, signal });
  if (typeof output === "string") return { text: output };
  assert.ok(output instanceof ToolOutput, `a text or an output, not ${typeof output}`);
  return {
    text: output.text,
    ...(output.detail === undefined ? {} : { detail: output.detail }),
    ...(output.images.length === 0 ? {} : { images: output.images.map(({ mediaType }) => mediaType) }),
    ...(output.isError ? { isError: true } : {}),
  };
}

/** The message with which something fails, and its code. */
export async function failure(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail("it should have failed"),
    (reason: unknown) => reason as { readonly code?: string; readonly message: string },
  );
  return `${error.code ?? "error"}: ${error.message}`;
}

/** A directory that is gone after the test. */
export async function openFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "skein-tool-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
