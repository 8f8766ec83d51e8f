/** A model whose answers a test writes, piece by piece, while somebody watches. The other one is offline. */
import { offlineModel } from "../../src/model/offline.ts";
import { ModelError, type Model, type Models } from "../../src/model/port.ts";
import { realWorld } from "../../src/runtime/world.ts";

export const penName = "pen/pen";

export interface Pen {
  readonly models: Models;
  /** The next piece of the answer that is made now, or is made next. */
  write(text: string): void;
  /** The answer is whole. */
  end(): void;
}

/** It may go by another name. */
export function makePen(name = penName): Pen {
  const written: (string | null)[] = [];
  let wake: () => void = () => undefined;
  const put = (piece: string | null): void => {
    written.push(piece);
    wake();
  };
  const model: Model = {
    name,
    facts: { windowTokens: 32_768, outputTokensMax: 8_192, images: true, price: null },
    async *stream({ signal }) {
      let text = "";
      signal.addEventListener("abort", () => wake());
      for (;;) {
        if (signal.aborted) throw new ModelError("interrupted", "the answer was interrupted");
        const piece = written.shift();
        if (piece === undefined) await new Promise<void>((resolve) => (wake = resolve));
        else if (piece === null) break;
        else {
          text += piece;
          yield { type: "text", text: piece };
        }
      }
      return {
        blocks: [{ type: "text", text }],
        finish: "stop",
        usage: { inputTokens: 10, outputTokens: 10 },
        sent: null,
      };
    },
  };
  const offline = offlineModel({ world: realWorld() });
  return {
    models: {
      byDefault: offline.name,
      model: async (asked) => (asked === penName ? model : offline),
      list: () => [],
    },
    write: (text) => put(text),
    end: () => put(null),
  };
}
