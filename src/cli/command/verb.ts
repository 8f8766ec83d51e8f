/**
 * A verb of the command line. One definition gives the parser its options, the help its texts and `run` the
 * types of its input, so that they cannot disagree.
 */
import type { Session } from "../../runtime/engine/session.ts";
import type { Store } from "../../store/port.ts";
import type { StoreOpener } from "../open/open-engine.ts";
import type { Screen } from "./screen.ts";

export interface Option {
  /**
   * `seq`: a position. `place`: a position or a checkpoint's name. `time`: a moment; `2h` is two hours ago.
   * `coming`: a future moment; `2h` is in two hours. `span`: a length of time. `list`: may be given several
   * times.
   */
  readonly type: "flag" | "text" | "list" | "seq" | "place" | "count" | "number" | "time" | "coming" | "span";
  readonly what: string;
  /** The placeholder of the value in the usage. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
  /** The minimum of a count; defaults to 0. */
  readonly least?: number;
  /** The last of two counts, unless that would hide a mistake: then two are refused, with this hint. */
  readonly once?: string;
}

export type Options = Readonly<Record<string, Option>>;

type OptionValue<T extends Option["type"]> = T extends "flag"
  ? boolean
  : T extends "list"
    ? readonly string[]
    : T extends "place"
      ? string | number | undefined
      : T extends "text"
        ? string | undefined
        : number | undefined;

export type OptionValues<O extends Options> = { readonly [K in keyof O]: OptionValue<O[K]["type"]> };

/** `NAME` is required, `NAME?` may be left out, `NAME...` takes all the rest, `NAME...?` or none. */
export type ArgNames = readonly string[];

type ArgName<A extends string> = A extends `${infer N}...?`
  ? N
  : A extends `${infer N}...` | `${infer N}?`
    ? N
    : A;
type ArgValue<A extends string> = A extends `${string}...?` | `${string}...`
  ? readonly string[]
  : A extends `${string}?`
    ? string | undefined
    : string;

export type ArgValues<A extends ArgNames> = { readonly [K in A[number] as ArgName<K>]: ArgValue<K> };

export interface StopOptions {
  /** The verb runs until a signal ends it: its exit code is then its own. */
  readonly isRegularEnd?: boolean;
}

/** One use of a verb. The runner closes what is opened through it. */
export interface VerbCall<O extends Options = Options, A extends ArgNames = ArgNames> {
  readonly args: ArgValues<A>;
  readonly options: OptionValues<O>;
  readonly out: Screen;
  /** The path of the store. */
  readonly place: string;
  readonly nowMs: number;
  /**
   * For a long-running verb: aborted when the user stops it, with the name of the signal as its reason. Until
   * it is requested, signals end the process.
   */
  readonly untilStopped: (options?: StopOptions) => AbortSignal;
  /** Opens the store; creates it only with `create`. */
  readonly store: (options?: { readonly create?: boolean }) => Promise<Store>;
  readonly engine: StoreOpener["engine"];
  /** The session with this id or unique suffix. */
  readonly session: (idOrEnding: string) => Promise<Session>;
  /** Runs another command line here and returns its output, as in so many columns, and its result. */
  readonly perform: (
    words: readonly string[],
    options?: { readonly columns?: number | null },
  ) => Promise<CommandResult>;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Verb<O extends Options = Options, A extends ArgNames = ArgNames> {
  readonly name: string;
  /** Its job, in one line. */
  readonly line: string;
  readonly args: A;
  readonly options: O;
  /** For a verb with actions: the arguments of each. */
  readonly usages?: readonly string[];
  /** Further information, a paragraph each. */
  readonly about?: readonly string[];
  readonly examples: readonly { readonly command: string; readonly what: string }[];
  /** It only reads: it ends when its output is closed (`skein log … | head`). Others finish their work. */
  readonly endsUnread?: true;
  /** Returns the exit code, when it is not 0. */
  run(call: VerbCall<O, A>): Promise<number | void>;
}

type Definition<O extends Options, A extends ArgNames> = Omit<Verb<O, A>, "examples"> & {
  /** A command line and its meaning each: `skein close 4x8kz1  # it is done`. */
  readonly examples: readonly string[];
};

/** Makes a verb from its definition: `run` has the types of its options and arguments, the verb has not. */
export const verb = <const O extends Options, const A extends ArgNames>(
  definition: Definition<O, A>,
): Verb => {
  const examples = definition.examples.map((line) => {
    const [command = "", what = ""] = line.split("  # ");
    return { command, what };
  });
  return { ...definition, examples } as Verb;
};
