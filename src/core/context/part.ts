/**
 * The rendered context: what a model is sent in one step, as an array of parts. It is plain JSON in Skein's
 * own format, independent of provider libraries; `model.requested` records its digest. A driver maps it to
 * its provider.
 *
 * Between compactions, rewinds and migrations the array only grows at the end. So tools that are bound later
 * become a later `tools` part, and the last one counts. Everything else is read in order.
 */

export type ContextPart = SettingsPart | ToolsPart | SystemPart | MessagePart;

/** The settings of a model call. They stay the same until a migration, so that prompt caches keep hitting. */
export interface Settings {
  /** `provider/model`. */
  readonly model: string;
  /** Whether the model accepts images; otherwise a text says that there was one. */
  readonly images: boolean;
  readonly temperature?: number;
  readonly reasoning?: "none" | "low" | "medium" | "high";
}

/** The settings of a model call, as a part of the context. */
export interface SettingsPart {
  readonly part: "settings";
  readonly settings: Settings;
}

/** A tool as the model is offered it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** The tools that the model is offered, as a part of the context. */
export interface ToolsPart {
  readonly part: "tools";
  readonly tools: readonly ToolDefinition[];
}

/** Instructions, as a part of the context. */
export interface SystemPart {
  readonly part: "system";
  readonly text: string;
}

/** A message of the context: of the user, the model, or a tool. */
export type MessagePart =
  | { readonly part: "message"; readonly role: "user"; readonly content: readonly UserBlock[] }
  | { readonly part: "message"; readonly role: "assistant"; readonly content: readonly ModelBlock[] }
  /** The results of all calls of the previous message, in the order of the calls. */
  | { readonly part: "message"; readonly role: "tool"; readonly content: readonly ResultBlock[] };

/** A block of a message of the user. */
export type UserBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly blob: string; readonly mediaType: string }
  | { readonly type: "file"; readonly blob: string; readonly mediaType: string; readonly name?: string };

/** Metadata that a provider needs back verbatim, under its name. Never sent to another model. */
export type Metadata = Readonly<Record<string, unknown>>;

/** A block of a message of the model. */
export type ModelBlock =
  | { readonly type: "text"; readonly text: string; readonly metadata?: Metadata }
  | { readonly type: "reasoning"; readonly text: string; readonly metadata?: Metadata }
  | {
      readonly type: "tool-call";
      /** `call_` and the position of its `tool.requested`: unique in the log, valid for every provider. */
      readonly call: string;
      readonly tool: string;
      /** Always an object. */
      readonly input: Readonly<Record<string, unknown>>;
      readonly metadata?: Metadata;
    };

/** A block of a message with tool results. */
export interface ResultBlock {
  readonly type: "tool-result";
  readonly call: string;
  readonly tool: string;
  readonly status: "ok" | "error" | "unknown" | "skipped";
  readonly text: string;
  readonly images?: readonly { readonly blob: string; readonly mediaType: string }[];
}
