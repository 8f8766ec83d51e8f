/** What a plain verb adds to the description of its call: further options, and how the result is printed. */
import { SkeinError } from "../../core/error.ts";
import type { OperationId, ParamsOf } from "../../call/operations.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Column } from "../format/table.ts";
import { table } from "../format/table.ts";
import type { Screen } from "./screen.ts";
import type { VerbCall, Options, OptionValues } from "./verb.ts";

type MethodOf<H, C extends string> = C extends keyof H ? H[C] : never;
type Method<K extends OperationId> = K extends `engine.${infer C}`
  ? MethodOf<Engine, C>
  : K extends `session.${infer C}`
    ? MethodOf<Session, C>
    : never;
type ResultOf<K extends OperationId> = Method<K> extends (...args: never) => infer R ? Awaited<R> : never;

type Draft<K extends OperationId> = { -readonly [F in keyof ParamsOf<K>]?: ParamsOf<K>[F] };

/** A plain verb in use. */
export interface VerbUse<K extends OperationId, O extends Options> extends Pick<
  VerbCall,
  "out" | "place" | "nowMs" | "untilStopped" | "store" | "engine" | "session"
> {
  /** As the words gave them; `prepare` may complete them. */
  readonly params: Draft<K>;
  /** The options that the presentation adds. */
  readonly given: OptionValues<O>;
  readonly args: Readonly<Record<string, string | undefined>>;
  /** The session that the verb names first, if the call is about one. */
  readonly found: K extends `session.${string}` | "engine.delete" | "engine.export" ? Session : null;
}

export interface PresentedResult {
  /** For programs: one value, or a list, written one a line. By default the result. */
  readonly json?: object | readonly object[];
  readonly lines: readonly string[];
  /** For people, on standard error. */
  readonly notes?: readonly string[];
  readonly code?: number;
}

type Progress = Readonly<Record<"records" | "sessions" | "messages" | "done", number>>;

export interface Presentation<K extends OperationId, O extends Options, R> {
  readonly options?: O;
  /** Makes the store if it is not there. */
  readonly creates?: true;
  /** False: standard input is not read for a value that is not given. */
  readsInput?(use: Pick<VerbUse<K, O>, "given">): boolean;
  /** Completes or refuses the parameters, before anything is opened. */
  prepare?(use: Omit<VerbUse<K, O>, "found">): void | Promise<void>;
  /** Takes the place of the call. */
  call?(use: VerbUse<K, O>): Promise<R>;
  progress?(at: Progress): string;
  /** The result of a change, such as "renamed"; by default the description has it. */
  done?(use: VerbUse<K, O>): string;
  print?(result: R, use: VerbUse<K, O>): PresentedResult | Promise<PresentedResult>;
}

/** A presentation whose types are forgotten, with the call that it is of. */
export type AnyPresentation = Presentation<OperationId, Options, unknown>;

export const plain = <K extends OperationId, const O extends Options = Options, R = ResultOf<K>>(
  id: K,
  presentation: Presentation<K, O, R>,
): readonly [OperationId, AnyPresentation] => [id, presentation];

export const invalid = (message: string, hint: string): SkeinError =>
  new SkeinError("invalid", message, { hint });

/** A table, with `>` before the title of a column that is aligned to the right and `~` of one that is dim. */
export function grid(out: Screen, titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.map((title): Column => {
    if (title.startsWith(">")) return { title: title.slice(1), align: "right" };
    return title.startsWith("~") ? { title: title.slice(1), paint: out.dim } : { title };
  });
  return table(columns, rows, { width: out.columns, heading: out.bold });
}
