/** The description of one call of the library. The tables are in the files beside this one. */
import * as z from "zod";
import { once } from "../core/cache.ts";
import type { TokenScope } from "../core/workspace/access-token.ts";

type Fields = z.core.$ZodLooseShape;
/** The fields of a call without parameters. */
type NoFields = Readonly<Record<string, never>>;

/** The form of a result: JSON, nothing (204), a stream of events, or bytes. */
export type Gives = "json" | "nothing" | "stream" | "bytes";

export interface Operation<
  P extends Fields = Fields,
  A extends z.ZodType = z.ZodType,
  N extends string = string,
> {
  /** The handle that has the call. */
  readonly of: "engine" | "session";
  /** The library's name for it. */
  readonly call: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** With `{id}` for the session: its id, or a unique id suffix. */
  readonly path: string;
  /** The scope a token needs. `admin` implies all others. */
  readonly scope: TokenScope;
  /** Scopes that some parameters need besides. */
  readonly also: readonly ExtraScope<P>[];
  readonly summary: string;
  /** A menu item: a verb and its object. */
  readonly title: string;
  /** Further search words. */
  readonly words?: string;
  /** The loss that it causes: menus ask for a confirmation. */
  readonly warning?: string;
  /** Menus ask for options first, though all may be left out. */
  readonly asks?: true;
  /** The plain verb of the command line; without it the call has a custom screen, or no verb. */
  readonly verb?: VerbDescription | ActionDescription;
  /** The positional arguments of the library's call, in its order; all other parameters are its options. */
  readonly args: readonly N[];
  /** All parameters but the id: the query of a GET or DELETE or beside bytes, the JSON body of a POST. */
  readonly params: z.ZodObject<P, z.core.$strict>;
  /** Options of the library that are not sent: they act in the caller's process, or need the engine in it. */
  readonly local: Readonly<Record<string, "client" | "engine">>;
  /** Parameters that only a request has, such as those of a stream. */
  readonly remote: readonly string[];
  /** Values that the library takes besides, and that cannot be sent: an open store, a function, a Date. */
  readonly inProcess: Readonly<Record<string, (value: unknown) => boolean>>;
  readonly takes: "query" | "json" | "bytes";
  /**
   * True when the library's call takes an idempotency key: then the header is that key, whatever the body.
   */
  readonly keyed: boolean;
  readonly gives: Gives;
  /** The result as JSON; for a stream, one event. */
  readonly answer: A;
  /** True when the route also returns a stream, to callers that accept `text/event-stream`. */
  readonly streams: boolean;
}

interface ExtraScope<P extends Fields> {
  readonly scope: TokenScope;
  /** The use that needs it, as the subject of a sentence. */
  readonly what: string;
  /** The parameters that need it; defaults to all. */
  when?(params: z.infer<z.ZodObject<P, z.core.$strict>>): boolean;
}

/** The spelling of a verb, where it differs from the names of the call and its parameters. */
interface Spelling {
  /** By default the name of the call. `tokens add` is an action of the verb `tokens`. */
  readonly name?: string;
  /** The positional parameters, by default those of the library; with `?` one may be left out. */
  readonly args?: readonly string[];
  /** Parameters by another name or in another form; null: not on the command line. */
  readonly flags?: Readonly<Record<string, string | Flag | null>>;
  /** The result of a change, such as "renamed"; `{name}` stands for a parameter. */
  readonly done?: string;
}

export interface Flag {
  readonly name?: string;
  /** The form of its value, where the schema does not tell: `words` are all remaining words. */
  readonly type?: "words" | "text" | "time" | "coming" | "span" | "list" | "file" | "position";
  /** The placeholder of its value in the help. */
  readonly value?: string;
  readonly short?: string;
  readonly what?: string;
  /** The value that a flag stands for; defaults to true. */
  readonly is?: unknown;
}

/** The texts of an action are those of its verb, which the description of the default action has. */
interface ActionDescription extends Spelling {
  readonly name: `${string} ${string}`;
}

export interface VerbDescription extends Spelling {
  /** The title of its group in the overview. */
  readonly group: string;
  /** Its job, in a line. */
  readonly line: string;
  /** A paragraph each. */
  readonly about?: readonly string[];
  /** A command line and its meaning: `skein close 4x8kz1  # it is done`. */
  readonly examples: readonly string[];
}

interface Description<P extends Fields, A extends z.ZodType, N extends string> extends Pick<
  Operation,
  "summary" | "title" | "words" | "warning" | "asks" | "verb"
> {
  readonly args?: readonly (N & keyof P)[];
  /** Schemas are built on first use: a process uses few of them, and all together take as long as zod. */
  readonly params?: () => P;
  readonly answer?: () => A;
  readonly path?: string;
  readonly method?: Operation["method"];
  readonly scope?: TokenScope;
  readonly also?: readonly ExtraScope<P>[];
  readonly local?: Operation["local"];
  readonly remote?: readonly (keyof P & string)[];
  readonly inProcess?: Operation["inProcess"];
  readonly takes?: Operation["takes"];
  readonly keyed?: boolean;
  readonly gives?: Gives;
  readonly streams?: boolean;
}

/** A call that changes nothing: a GET unless the description says otherwise. */
export const read = <
  P extends Fields = NoFields,
  A extends z.ZodType = z.ZodUndefined,
  const N extends string = never,
>(
  of: Operation["of"],
  call: string,
  description: Description<P, A, N>,
): Operation<P, A, N> => make(of, call, { method: "GET", scope: "read", ...description });

/** A call that changes a session or the workspace: a POST. */
export const change = <
  P extends Fields = NoFields,
  A extends z.ZodType = z.ZodUndefined,
  const N extends string = never,
>(
  of: Operation["of"],
  call: string,
  description: Description<P, A, N>,
): Operation<P, A, N> => make(of, call, { method: "POST", scope: "write", ...description });

function make<P extends Fields, A extends z.ZodType, N extends string>(
  of: Operation["of"],
  call: string,
  description: Description<P, A, N> & Required<Pick<Description<P, A, N>, "method" | "scope">>,
): Operation<P, A, N> {
  const { method, params, answer, ...rest } = description;
  const paramsOf = once(() => z.strictObject(params?.() ?? ({} as P)));
  const answerOf = once(() => answer?.() ?? (z.undefined() as unknown as A));
  const usual = of === "engine" ? `/v1/${kebab(call)}` : `/v1/sessions/{id}/${kebab(call)}`;
  return {
    path: usual,
    also: [],
    args: [],
    local: {},
    remote: [],
    inProcess: {},
    takes: method === "POST" ? "json" : "query",
    keyed: false,
    gives: answer === undefined ? "nothing" : "json",
    streams: false,
    ...rest,
    method,
    of,
    call,
    get params() {
      return paramsOf();
    },
    get answer() {
      return answerOf();
    },
  };
}

/** The arguments of the library's call, from its parameters by name and local options. */
export function argumentsOf(
  { args, params }: Operation,
  given: Readonly<Record<string, unknown>>,
  more: object = {},
): unknown[] {
  const options: Record<string, unknown> = { ...more };
  for (const name of Object.keys(given)) if (!args.includes(name)) options[name] = given[name];
  const takesOptions = Object.keys(params.shape).length > args.length || Object.keys(options).length > 0;
  return [...args.map((name) => given[name]), ...(takesOptions ? [options] : [])];
}

/** Whether the library is given an open store in place of its address. */
export const isStore = (value: unknown): boolean =>
  typeof (value as { readonly append?: unknown } | null)?.append === "function";

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
