/**
 * A session as people read it: what was said and done, in order, without what only the machinery needs. Each
 * format makes its own page of it.
 */
import { includes } from "../../core/range.ts";
import type { SessionEvent } from "../../runtime/read/event-reader.ts";
import type { SessionItem } from "../../runtime/read/projection.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { VerifyReport } from "../../runtime/govern/verify.ts";

/** What a page begins and ends with. */
export interface Story {
  readonly id: string;
  readonly title: string;
  readonly objective: string;
  readonly status: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly items: readonly SessionItem[];
  readonly head: { readonly seq: number; readonly hash: string };
  readonly verified: VerifyReport;
  scenes(): AsyncGenerator<Scene>;
}

/** One thing that happened. */
export interface Scene {
  readonly seq: number;
  readonly at: number;
  /** Who or what: a person, the model, a tool; or the session itself. */
  readonly who: "person" | "model" | "reasoning" | "call" | "result" | "note";
  readonly title: string;
  readonly said: readonly Said[];
  /** It was rewound away, and no longer counts. */
  readonly lost: boolean;
}

export type Said =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "image"; readonly blob: string; readonly mediaType: string };

export async function storyOf(session: Session): Promise<Story> {
  const [{ standing, mind }, view] = [await session.fold(), await session.state()];
  const { seq, hash } = await session.head();
  const goal = view.objective ?? "an objective that was erased";
  return {
    id: session.id,
    title: view.name ?? goal,
    objective: goal,
    status: standing.status,
    agent: standing.agent?.name ?? null,
    model: standing.model,
    items: await session.items(),
    head: { seq, hash },
    verified: await session.verify(),
    async *scenes() {
      for await (const event of session.events({ toSeq: seq })) {
        for (const scene of scenesOf(event)) yield { ...scene, lost: includes(mind.lost, event.seq) };
      }
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;
type Told = Omit<Scene, "seq" | "at" | "lost">;

function scenesOf(event: SessionEvent): Omit<Scene, "lost">[] {
  const { seq, at, type } = event;
  if (quiet.test(type)) return [];
  const body = (event.body ?? {}) as Fields;
  const content = (event.content ?? {}) as Fields;
  if (event.erased) return [{ seq, at, who: "note", title: `${type}, which was erased`, said: [] }];
  const told = (tellers[type] ?? otherwise)(body, content, type);
  return told.map((scene) => ({ seq, at, ...scene }));
}

/** What only says how it was done. */
const quiet = /^(lease\.|turn\.|zone\.|scratch\.|model\.requested$|tool\.(started|approved)$|tools\.bound$)/;

const tellers: Readonly<Record<string, (body: Fields, content: Fields, type: string) => readonly Told[]>> = {
  "input.received": ({ from }, { blocks }) => [
    {
      who: "person",
      title: from === undefined || from === "user" ? "Person" : `Input (${plain(from)})`,
      said: saidIn(blocks),
    },
  ],
  "message.received": ({ from }, { blocks, text }) => [
    { who: "person", title: `Message from ${plain(from)}`, said: [...saidIn(blocks), ...asText(text)] },
  ],
  "model.responded": ({ model }, { blocks }) => answerOf(plain(model), blocks),
  "model.failed": ({ model, error }, { message, partial }) => [
    ...(typeof partial === "string"
      ? answerOf(`${plain(model)} (interrupted)`, [{ type: "text", text: partial }])
      : []),
    { who: "note", title: `${plain(model)} failed: ${plain(error)}`, said: asText(message) },
  ],
  "tool.requested": ({ tool }, { input }) => [
    { who: "call", title: `Call: ${plain(tool)}`, said: asCode(input) },
  ],
  "tool.settled": ({ status }, { output, blocks }) => [
    { who: "result", title: `Result: ${plain(status)}`, said: [...asCode(output), ...saidIn(blocks)] },
  ],
  "item.recorded": ({ kind, key, status }, { value, because }) => [
    {
      who: "note",
      title: `Recorded ${plain(kind)} ${plain(key)}${status === undefined ? "" : ` (${plain(status)})`}`,
      said: [...asCode(value), ...asText(because)],
    },
  ],
  "item.retracted": ({ kind, key }, { because }) => [
    { who: "note", title: `Retracted ${plain(kind)} ${plain(key)}`, said: asText(because) },
  ],
};

const otherwise = (body: Fields, content: Fields, type: string): readonly Told[] => {
  const small = Object.entries(body).filter(([, value]) => ["string", "number"].includes(typeof value));
  const facts = small.map(([name, value]) => `${name} ${plain(value)}`).join(", ");
  const words = Object.values(content).filter((value) => typeof value === "string");
  return [{ who: "note", title: facts === "" ? type : `${type}: ${facts}`, said: words.flatMap(asText) }];
};

function answerOf(model: string, blocks: unknown): Told[] {
  const list = Array.isArray(blocks) ? (blocks as Fields[]) : [];
  const reasoning = list.filter(({ type }) => type === "reasoning").flatMap(({ text }) => asText(text));
  const said = saidIn(list.filter(({ type }) => type !== "reasoning"));
  return [
    ...(reasoning.length === 0
      ? []
      : [{ who: "reasoning", title: `Reasoning of ${model}`, said: reasoning } as const]),
    ...(said.length === 0 ? [] : [{ who: "model", title: model, said } as const]),
  ];
}

function saidIn(blocks: unknown): Said[] {
  if (!Array.isArray(blocks)) return [];
  return (blocks as Fields[]).flatMap(({ type, text, blob, mediaType, name }): Said[] => {
    if (type === "text") return asText(text);
    if (type === "image") return [{ kind: "image", blob: plain(blob), mediaType: plain(mediaType) }];
    if (type === "file") return asText(`[file ${plain(name ?? mediaType)}]`);
    return [];
  });
}

const asText = (value: unknown): Said[] =>
  typeof value === "string" && value !== "" ? [{ kind: "text", text: value }] : [];

function asCode(value: unknown): Said[] {
  if (value === undefined) return [];
  return [{ kind: "code", text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }];
}

const plain = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** What the verification found, in one line. */
export function verdictOf({ verified, head }: Story): string {
  const { ok, records, contents, erased, firstBad } = verified;
  const gone = erased === 0 ? "" : `, ${erased} erased`;
  const counted = `${records} records and ${contents} contents${gone}`;
  if (ok) return `Verified: ${counted}; every hash agrees up to ${head.seq}.`;
  return `Not verified: record ${firstBad?.seq ?? 0}: ${firstBad?.problem ?? ""}.`;
}
