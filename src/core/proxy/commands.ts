/** Commands on model calls that another program makes through the recording proxy. */
import type { BodyOf, ContentOf } from "../catalog.ts";
import type { HistoryEntry } from "../history/commands.ts";

/** What was said, as records of the conversation of another tool. */
export type ProxyEntry = Extract<HistoryEntry, { readonly type: "input" | "answer" | "call" }>;

export type ProxyCommand =
  /** Messages from before the program used the proxy, ahead of their first request. */
  | { readonly do: "record-said"; readonly entries: readonly ProxyEntry[] }
  | {
      readonly do: "forward";
      /** Messages that the log lacks. They precede the request. */
      readonly entries: readonly ProxyEntry[];
      readonly body: BodyOf<"proxy.requested">;
      readonly content: ContentOf<"proxy.requested">;
    }
  | {
      readonly do: "pass-on";
      /** The position of the request. */
      readonly requestSeq: number;
      readonly body: BodyOf<"proxy.responded">;
      readonly content: ContentOf<"proxy.responded">;
      readonly answer: Extract<HistoryEntry, { readonly type: "answer" }> | null;
    }
  | {
      readonly do: "fail-forwarded";
      readonly requestSeq: number;
      readonly body: BodyOf<"proxy.failed">;
      readonly content: ContentOf<"proxy.failed">;
      /** The text that was passed on before the call broke. */
      readonly answer: Extract<HistoryEntry, { readonly type: "answer" }> | null;
    };
