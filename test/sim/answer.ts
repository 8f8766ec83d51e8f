/** What the simulated model says: a function of the seed and of the context it is given, and nothing else. */
import type { MessagePart, ContextPart } from "../../src/core/context/part.ts";
import type { AnswerBlock, FinishReason } from "../../src/model/port.ts";
import { makeRandom, type Random } from "../crash/random.ts";

export interface Said {
  readonly blocks: readonly AnswerBlock[];
  readonly finish: FinishReason;
  readonly outputTokens: number;
}

export function answerTo(seed: number, digest: string, parts: readonly ContextPart[]): Said {
  const random = makeRandom(seed ^ Number.parseInt(digest.slice(0, 8), 16));
  const messages = parts.filter((part): part is MessagePart => part.part === "message");
  const since = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
  const outputTokens = 20 + random.below(100);
  const wants = random.chance(since < 6 ? 0.8 : 0.15);
  if (!wants) return { ...ending(random), outputTokens };
  // In some lives there is little but what must not happen twice.
  const risk = seed % 4 === 0 ? 0.8 : 0;
  const calls = Array.from({ length: random.pick([1, 1, 2, 3, 4]) }, () => callOf(random, messages, risk));
  const words: AnswerBlock[] = random.chance(0.5) ? [{ type: "text", text: "Let me see." }] : [];
  return { blocks: [...words, ...calls], finish: "tool-calls", outputTokens };
}

function ending(random: Random): Pick<Said, "blocks" | "finish"> {
  const finish = random.pick<FinishReason>([
    "stop",
    "stop",
    "stop",
    "stop",
    "stop",
    "length",
    "refusal",
    "other",
  ]);
  const blocks: AnswerBlock[] = random.chance(0.1)
    ? []
    : [{ type: "text", text: `Done ${random.below(10)}.` }];
  return { finish, blocks };
}

const wishes = [
  "look",
  "look",
  "put",
  "put",
  "pay",
  "pay",
  "pay",
  "pay",
  "wire",
  "wire",
  "wire",
  "wire",
  "record",
  "scratch",
  "send",
  "send",
  "fork",
  "sleep",
  "recall",
  "nonsense",
  "malformed",
] as const;

const isFork = (messages: readonly MessagePart[]): boolean =>
  JSON.stringify(messages).includes("You are a fork of the session");

/** Ids of calls repeat, as some providers' do. */
function callOf(random: Random, messages: readonly MessagePart[], risk: number): AnswerBlock {
  const wish = random.chance(risk) ? random.pick(["pay", "wire", "wire"] as const) : random.pick(wishes);
  const call = `call-${random.below(4)}`;
  const number = random.below(1_000);
  const use = (tool: string, input: unknown): AnswerBlock => ({ type: "tool-call", call, tool, input });
  switch (wish) {
    case "record":
      return use("record", { kind: "fact", key: `fact-${number % 5}`, value: number });
    case "scratch":
      return use("scratch", { key: `note-${number % 5}`, value: number });
    case "recall":
      return use("recall", { fromSeq: 1 + (number % 20) });
    case "send": {
      const peer = /peer=(ses_[0-9a-z]{26})/.exec(JSON.stringify(messages))?.[1];
      return use("send", { to: peer ?? "nobody", text: `message ${number}` });
    }
    case "fork":
      // A fork works by itself: one that forked again would make more of them than a life has time for.
      return number % 3 === 0 && !isFork(messages)
        ? use("fork", { objective: `Branch ${number}` })
        : use("look", { number });
    case "sleep":
      return number % 3 === 0 ? use("sleep", { forSeconds: 1 + (number % 30) }) : use("look", { number });
    case "nonsense":
      return use("nonsense", { number });
    case "malformed":
      return { type: "tool-call", call, tool: "pay", input: "{nu", malformed: true };
    case "look":
    case "put":
    case "pay":
    case "wire":
      return use(wish, { number });
  }
}
