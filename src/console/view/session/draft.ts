/** A streaming answer, built from its deltas. */
import type { FollowUpdate } from "../../../client/connect.ts";
import type { StreamingAnswer } from "./scope.ts";

type LiveDelta = Extract<FollowUpdate, { readonly delta: unknown }>["delta"];

export function withDelta(draft: StreamingAnswer | null, { requestSeq, delta }: LiveDelta): StreamingAnswer {
  const before: StreamingAnswer =
    draft?.requestSeq === requestSeq ? draft : { requestSeq, text: "", reasoning: "", tools: [] };
  switch (delta.type) {
    case "text":
      return { ...before, text: before.text + delta.text };
    case "reasoning":
      return { ...before, reasoning: before.reasoning + delta.text };
    case "tool-call":
      return { ...before, tools: [...before.tools, delta.tool] };
  }
}
