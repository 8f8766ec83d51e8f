/** One tool: its schemas, its scopes and its function. */
import * as z from "zod";
import { once } from "../../core/cache.ts";
import { limit } from "../../core/limit.ts";
import type { TokenScope } from "../../core/workspace/access-token.ts";
import type { McpAccess } from "./access.ts";
import type { ResourceLink } from "./output.ts";

/** What the tool learns of its request. */
export interface ToolRequest {
  /** Aborted when the client cancels the request, or is gone. */
  readonly signal: AbortSignal;
  /** True when the client wants progress. */
  readonly wantsProgress: boolean;
  progress(message: string): Promise<void>;
}

export interface ToolOutcome {
  readonly data: Readonly<Record<string, unknown>>;
  readonly links?: readonly ResourceLink[] | undefined;
}

/** As the protocol has them. */
interface Hints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

interface Description<I extends z.core.$ZodLooseShape, O extends z.core.$ZodLooseShape> {
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly TokenScope[];
  readonly hints: Partial<Hints>;
  /** The result holds contents of sessions or memory. */
  readonly untrusted: boolean;
  readonly input: () => I;
  readonly output: () => O;
  run(
    access: McpAccess,
    args: z.infer<z.ZodObject<I, z.core.$strict>>,
    request: ToolRequest,
  ): Promise<ToolOutcome>;
}

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** All of them are needed. */
  readonly scopes: readonly TokenScope[];
  readonly hints: Hints;
  readonly untrusted: boolean;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  run(access: McpAccess, args: unknown, request: ToolRequest): Promise<ToolOutcome>;
}

/** Schemas are built on first use, once for all requests. */
export function tool<I extends z.core.$ZodLooseShape, O extends z.core.$ZodLooseShape>(
  name: string,
  { input, output, hints, run, ...rest }: Description<I, O>,
): McpTool {
  const inputOf = once(() => z.strictObject(input()));
  const outputOf = once(() => z.looseObject(output()));
  const usual = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
  return {
    ...rest,
    name,
    hints: { ...usual, ...hints },
    get input() {
      return inputOf() as unknown as z.ZodObject;
    },
    get output() {
      return outputOf() as unknown as z.ZodObject;
    },
    run: (access, args, request) => run(access, args as never, request),
  };
}

export const readOnly: Partial<Hints> = { readOnlyHint: true, idempotentHint: true };

/** Of everything that changes something. */
export const key = once(() =>
  z
    .string()
    .min(1)
    .max(limit.idempotencyKeyCharsMax)
    .optional()
    .describe(
      "an idempotency key of your choice: a repeated call with the same key and arguments has one effect, " +
        "also after a restart",
    ),
);
