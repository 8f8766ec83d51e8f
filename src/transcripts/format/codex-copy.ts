/**
 * What forks of a rollout share. A fork begins with the heads of the rollouts that it was made from, the
 * oldest last, and a copy of their items with new times and ids. Codex gives answers no id: one is made of
 * the oldest head and of everything said up to the answer.
 */
import { createHash } from "node:crypto";
import type { TranscriptPlan } from "../model.ts";
import { codexTurnId } from "../write/derived-id.ts";
import { fieldsOf, nameOf, textOf, type Fields } from "./json-value.ts";
import { readMark, writtenTo, type SkeinPosition } from "./skein-mark.ts";

export class CodexCopies {
  #oldest = "";
  #chain = "";
  #isBegun = false;
  #position: SkeinPosition | null = null;
  #turns = 0;
  /** Where the first turn begins that Skein did not write. */
  #ownFrom: number | null = null;

  /** The head of this rollout, or of one that it was forked from. */
  begin(meta: Fields): void {
    const mark = /^skein (\S+)$/.exec(textOf(meta["originator"]) ?? "")?.[1];
    this.#position = readMark(mark) ?? this.#position;
    if (this.#isBegun) return;
    const before = nameOf(meta["forked_from_id"]);
    this.#oldest = before ?? nameOf(meta["id"]) ?? this.#oldest;
  }

  /** An item of the model's history. Its id and time are not copied; reasoning may be left out. */
  item(payload: Fields): void {
    this.#isBegun = true;
    const { type, role, content, name, arguments: args, input, call_id: call } = payload;
    if (type === "reasoning") return;
    const said = JSON.stringify([type, role, textsOf(content), name, briefOf(args), briefOf(input), call]);
    this.#chain = createHash("sha1").update(`${this.#chain}\n${said}`).digest("hex");
  }

  /** Identifies the answer that begins with the last item. */
  id(): string {
    return `${this.#oldest} ${this.#chain}`;
  }

  turn(payload: Fields, from: number): void {
    if (this.#position === null || this.#ownFrom !== null) return;
    this.#turns += 1;
    if (textOf(payload["turn_id"]) !== codexTurnId(this.#oldest, this.#turns)) this.#ownFrom = from;
  }

  written(): Pick<TranscriptPlan, "written"> {
    if (this.#position === null) return {};
    return { written: writtenTo(this.#position, this.#ownFrom ?? Infinity) };
  }
}

/** Enough to tell two texts apart that follow the same texts. */
const briefOf = (value: unknown): unknown =>
  typeof value === "string" ? `${value.length} ${value.slice(0, 500)}` : (value ?? null);

const textsOf = (content: unknown): unknown =>
  Array.isArray(content) ? content.map((part: unknown) => briefOf(fieldsOf(part)["text"])) : briefOf(content);
