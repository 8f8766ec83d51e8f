/**
 * A chat with a session: typed lines become its inputs, results stream as they happen, questions are answered
 * inline, and commands begin with a slash. A turn belongs to the session and not to the chat: leaving cancels
 * nothing.
 */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import { nextOf } from "../../core/turn/next.ts";
import type { SessionUpdate } from "../../runtime/turn/ask.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { RunResult } from "../../runtime/turn/runner.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { exitCodeOf, hintFor, standsStill } from "../command/exit-code.ts";
import { makeHearing, type UpdatePrinter } from "./turn-printer.ts";
import { callLines, isCut, questionOf, wayOn, type AskedCall, type Question } from "./question.ts";
import type { Screen } from "../command/screen.ts";
import { itemLines } from "../format/state-lines.ts";
import { helpRows, parseCommand } from "./chat-command.ts";
import { manyLines, oneLine } from "../format/text.ts";
import { hearAll } from "./turn.ts";
import type { TypedLines } from "./typed-lines.ts";
import type { CommandResult } from "../command/verb.ts";

export interface TalkPlace {
  readonly out: Screen;
  readonly lines: TypedLines;
  readonly engine: () => Promise<Engine>;
  /** Opens a session with this objective. */
  readonly open: (objective: string) => Promise<Session>;
  /** Runs a command line on the same store. */
  readonly perform: (words: readonly string[]) => Promise<CommandResult>;
}

export class Talk {
  readonly #place: TalkPlace;
  readonly #hearing: UpdatePrinter;
  #session: Session | null;
  #going: Promise<void> | null = null;
  #question: Question | null = null;
  /** The call that was shown whole, after only a part of it was. */
  #shownCall: string | null = null;
  #presses = 0;
  /** The engine is closing: a turn that still runs has no reader here. */
  #hasLeft = false;
  #code = 0;

  constructor(place: TalkPlace, session: Session | null) {
    this.#place = place;
    this.#session = session;
    this.#hearing = makeHearing(place.out, { note: (text) => place.out.line(text) });
  }

  /** Until the lines end or the user leaves. Returns the exit code. */
  async run(): Promise<number> {
    const { lines } = this.#place;
    if (this.#session !== null) await this.#goOn();
    for (;;) {
      // A program writes its lines without reading: each waits for the result of the one before.
      if (!lines.interactive) await this.#going;
      await this.#prompt();
      const line = await lines.next();
      if (line === null) break;
      this.#presses = 0;
      await this.#take(line.trim()).catch((error: unknown) => this.#tell(error));
    }
    this.#hasLeft = true;
    return this.#code;
  }

  /** Ctrl-C: the first interrupts the turn, the second leaves. */
  interrupted(): void {
    const { out, lines } = this.#place;
    this.#presses += 1;
    if (this.#presses > 1) {
      this.#code = 130;
      lines.close();
    } else if (this.#going === null) {
      out.note(out.dim("Ctrl-C again leaves, and so does /quit"));
      void this.#prompt();
    } else {
      // The turn may have ended by now; then there is nothing left to interrupt.
      this.#session?.interrupt().catch(() => undefined);
      out.note(out.dim("interrupting; Ctrl-C again leaves"));
    }
  }

  async #prompt(): Promise<void> {
    const { out, lines } = this.#place;
    if (!out.json && this.#going === null) await lines.prompt(this.#question === null ? "> " : "? ");
  }

  async #take(text: string): Promise<void> {
    if (text === "") return;
    if (/^\/[^/]/.test(text)) return this.#command(text);
    const said = text.replace(/^\/\//, "/");
    if (this.#going !== null && this.#session !== null) return this.#whileGoing(this.#session, said);
    if (this.#question !== null && this.#session !== null)
      return this.#reply(this.#session, this.#question, said);
    this.#session ??= await this.#place.open(said);
    return this.#go(this.#session.ask(said));
  }

  async #whileGoing(session: Session, text: string): Promise<void> {
    const { out } = this.#place;
    const steers = /^!\s*\S/.test(text);
    await session.input(steers ? text.slice(1).trim() : text, { mode: steers ? "steer" : "queue" });
    out.note(
      out.dim(steers ? "added to the turn at its next step" : "queued for the next turn; ! in front steers"),
    );
  }

  /**
   * Shows what happens from now on; meanwhile lines are read. Resolves once something has happened: then an
   * input is in the log, and that of the next line comes after it.
   */
  #go(run: AsyncGenerator<SessionUpdate, RunResult>): Promise<void> {
    this.#code = 0;
    const begun = Promise.withResolvers<void>();
    const hearing: UpdatePrinter = {
      ...this.#hearing,
      hear: (one) => {
        begun.resolve();
        return this.#hearing.hear(one);
      },
    };
    const showRun = async (): Promise<void> => {
      try {
        const { session } = await hearAll(run, hearing);
        // It went on as another session: so does the chat.
        if (session !== undefined) this.#session = await (await this.#place.engine()).session(session);
      } catch (error) {
        if (this.#hasLeft) return;
        await this.#hearing.rest();
        await this.#tell(error);
      }
      begun.resolve();
      this.#going = null;
      if (this.#hasLeft) return;
      await this.#look({ asksNow: true });
      if (this.#place.lines.interactive) await this.#prompt();
    };
    this.#going = showRun().catch((error: unknown) => (this.#hasLeft ? undefined : this.#tell(error)));
    return begun.promise;
  }

  /** Resumes unfinished work and queued input, if any. */
  async #goOn(): Promise<void> {
    if (this.#session === null || this.#going !== null) return;
    const state = await this.#session.fold();
    const rests = nextOf(state, { steered: false, stepsMax: Infinity }).next === "rest";
    if (rests) await this.#look();
    else void this.#go(this.#session.watch());
  }

  /** Shows what a suspended session waits for. `asksNow`: a turn of this chat reached it. */
  async #look({ asksNow = false } = {}): Promise<void> {
    const { out } = this.#place;
    const question = this.#session === null ? null : await questionOf(this.#session);
    const isSame = JSON.stringify(question) === JSON.stringify(this.#question);
    this.#question = question;
    if (question === null || isSame) return;
    this.#code = standsStill;
    if (out.json) return out.emit({ type: "question", ...question });
    const { interactive } = this.#place.lines;
    // A line from before the question does not answer it.
    const isLeft = asksNow && question.by === "approval" && !interactive;
    await out.line(out.yellow(askedText(question, { menu: !isLeft })));
    if (!isLeft) return;
    for (const line of wayOn(question, out.command)) out.note(line);
    out.note("the chat ends here; the remaining lines of input are ignored");
    this.#place.lines.close();
  }

  async #reply(session: Session, { by, calls }: Question, text: string): Promise<void> {
    const { out } = this.#place;
    const [first] = calls;
    const isYes = /^(y|yes|ok|allow|s|session|a|always)$/i.test(text);
    if (by === "approval" && first !== undefined) {
      if (isYes && (await this.#showWhole(first))) return;
      const remember = /^(s|session)$/i.test(text)
        ? ({ remember: "session" } as const)
        : /^(a|always)$/i.test(text)
          ? ({ remember: "always" } as const)
          : {};
      const reason = text.replace(/^(no?|deny)\b[\s,:]*/i, "");
      const why = isYes || reason === "" ? {} : { reason };
      await session.answer({ allow: isYes, calls: [first.call], ...why, ...remember });
      const { remember: kept } = remember as { readonly remember?: string };
      if (kept === "session") {
        out.note(out.dim(`${first.tool} is allowed in this session; /grant ${first.tool} ask takes it back`));
      } else if (kept === "always") {
        out.note(out.dim("this command is always allowed; /approvals lists and revokes"));
      }
    } else if (by === "unknown" || by === "error") {
      await session.answer({ allow: true, ...(isYes ? {} : { text }) });
    } else {
      await session.input(text);
      out.note(out.dim("queued until the session resumes"));
      return;
    }
    await this.#goOn();
  }

  /**
   * A call must be shown whole before it is allowed. True: it is shown now, and the question is asked again.
   */
  async #showWhole(call: AskedCall): Promise<boolean> {
    const { out } = this.#place;
    if (!isCut(call) || this.#shownCall === call.call || out.json) return false;
    this.#shownCall = call.call;
    for (const line of callLines(call, Infinity)) await out.line(line);
    await out.line(out.yellow("That is all of it. Allow it? The same answer again allows it."));
    return true;
  }

  async #command(text: string): Promise<void> {
    const { out, lines, engine } = this.#place;
    const session = this.#session;
    const headSeq = session === null ? 0 : (await session.head()).seq;
    const command = await parseCommand(text, { id: session?.id ?? "", headSeq });
    if (command.do === "quit") {
      if (this.#going !== null && session !== null)
        out.note(out.dim(`the turn is not over; skein run ${shortId(session.id)} resumes it`));
      // A user who leaves has seen the result.
      this.#code = 0;
      return lines.close();
    }
    if (command.do === "help") return this.#help();
    if (command.do === "switch") {
      if (this.#going !== null)
        throw new SkeinError("refused", "a turn is running", { hint: "wait until it ends" });
      this.#session = await (await engine()).session(command.id);
      this.#question = null;
      await out.line(`now with ${this.#session.id}`);
      return this.#goOn();
    }
    if (session === null && (command.do !== "perform" || command.words.includes(""))) {
      throw new SkeinError("invalid", "no session is open yet", { hint: "type a first message" });
    }
    if (command.do === "items" && session !== null) await this.#items(session);
    else if (command.do === "clear") await this.#clear(command.words);
    else if (command.do === "perform") await this.#perform(command.words);
    return this.#goOn();
  }

  async #perform(words: readonly string[]): Promise<CommandResult> {
    const { out, perform } = this.#place;
    const done = await perform(out.json ? [...words, "--json"] : words);
    const said = `${done.stdout}${done.stderr}`.trimEnd();
    if (said !== "") for (const line of said.split("\n")) await out.line(line);
    this.#code = done.code;
    return done;
  }

  /** The chat continues with the next session. */
  async #clear(words: readonly string[]): Promise<void> {
    const { code, stdout } = await this.#perform(words);
    const id = stdout.match(/ses_[0-9a-z]{26}/g)?.find((one) => one !== this.#session?.id);
    if (code === 0 && id !== undefined) this.#session = await (await this.#place.engine()).session(id);
  }

  async #items(session: Session): Promise<void> {
    const { out } = this.#place;
    const items = await session.items();
    if (out.json) await out.emit({ type: "items", session: session.id, items });
    else for (const line of items.length === 0 ? ["none yet"] : itemLines(items, out)) await out.line(line);
  }

  async #help(): Promise<void> {
    const { out } = this.#place;
    if (out.json) return out.emit({ type: "help", commands: Object.fromEntries(helpRows) });
    const width = Math.max(...helpRows.map(([words]) => words.length));
    for (const [words, what] of helpRows) await out.line(`  ${words.padEnd(width)}  ${what}`);
    for (const line of typing) await out.line(`  ${line}`);
  }

  /** An error ends the request, not the chat. */
  async #tell(error: unknown): Promise<void> {
    if (!(error instanceof SkeinError)) throw error;
    const { out } = this.#place;
    const { code, message } = error;
    const hint = error.hint ?? hintFor[code];
    this.#code = exitCodeOf(code);
    if (out.json) return out.emit({ type: "error", code, message, hint });
    await out.line(`${out.red("skein:")} ${oneLine(message)}`);
    await out.line(`  ${out.dim("hint:")} ${oneLine(hint)}`);
  }
}

const typing: readonly string[] = [
  "",
  "What you type while a turn runs is queued for the next one; with ! in front it steers the turn.",
  "Ctrl-C interrupts the turn, a second one leaves. A text that begins with a slash is typed with two.",
];

function askedText(
  { by, calls, session, modelError, budget }: Question,
  { menu }: { readonly menu: boolean },
): string {
  const [first] = calls;
  if (by === "approval" && first !== undefined)
    return [
      `Allow ${oneLine(first.tool)}?`,
      ...callLines(first),
      ...(menu
        ? [
            `  y  once    s  every ${oneLine(first.tool)} call in this session` +
              `${first.command === undefined ? "" : "    a  always this command"}    n  no, or type why`,
          ]
        : []),
    ].join("\n");
  switch (by) {
    case "unknown":
      return "Check what happened and type what you found; or y to continue without it.";
    case "error":
      return modelError === undefined
        ? "Type y to try again, or something else to tell it."
        : "Type y to retry, another message to send it, or switch models with " +
            "/migrate --model PROVIDER/MODEL.";
    case "budget":
      return `Give it more with /budget ${budget ?? "--usd 5"}; or leave: ${shortId(session)} keeps.`;
    default:
      return "/activate resumes it.";
  }
}

/** The last transcript entries, for a returning user. */
export async function lastWords(session: Session, out: Screen): Promise<void> {
  const said: string[] = [];
  const types = ["input.received", "model.responded", "input.imported", "answer.imported"];
  for await (const { type, body, content } of session.events({ types, reverse: true, limit: 20 })) {
    if (said.length === 4) break;
    if (type === "input.imported" && (body as { readonly from?: string }).from !== "user") continue;
    const { blocks = [] } = (content ?? {}) as { readonly blocks?: readonly { readonly text?: unknown }[] };
    const text = blocks.flatMap((block) => (typeof block.text === "string" ? [block.text] : [])).join(" ");
    const [line = ""] = manyLines(oneLine(text).slice(0, 300));
    if (line !== "") said.unshift(out.dim(type.startsWith("input.") ? `> ${line}` : line));
  }
  for (const line of said) out.note(line);
}
