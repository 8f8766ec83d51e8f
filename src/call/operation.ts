/** What one operation of the HTTP API says of itself. The tables are in the files beside this one. */
import * as z from "zod";
import type { Scope } from "../core/workspace/access-token.ts";

type Fields = z.core.$ZodLooseShape;
/** Of an operation that takes nothing. */
type Nothing = Readonly<Record<string, never>>;

/** What comes back: JSON, nothing (204), a stream of events, or bytes. */
export type Gives = "json" | "nothing" | "stream" | "bytes";

export interface Operation<P extends Fields = Fields, A extends z.ZodType = z.ZodType> {
  /** Whose call it is in the library. */
  readonly of: "engine" | "session";
  /** The library's word for it. */
  readonly call: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** With `{id}` where the session stands: its id, or any ending that only one session has. */
  readonly path: string;
  /** What a token must allow. `admin` implies all others. */
  readonly scope: Scope;
  readonly summary: string;
  /** The positional arguments of the library's call, in its order; whatever else there is are its options. */
  readonly args: readonly string[];
  /**
   * All that may be given besides the id: the query of a GET or DELETE, the JSON body of a POST. Where the
   * body is bytes, the query.
   */
  readonly params: z.ZodObject<P, z.core.$strict>;
  readonly takes: "query" | "json" | "bytes";
  /** Whether the library's call takes a key of its own: then the header is that key, whatever the body. */
  readonly keyed: boolean;
  readonly gives: Gives;
  /** What comes back as JSON; of a stream, what each event holds. */
  readonly answer: A;
  /** Whether the same address also gives a stream, to those who accept `text/event-stream`. */
  readonly streams: boolean;
}

interface Said<P extends Fields, A extends z.ZodType> {
  readonly summary: string;
  readonly args?: readonly (keyof P & string)[];
  readonly params?: P;
  readonly answer?: A;
  readonly path?: string;
  readonly method?: Operation["method"];
  readonly scope?: Scope;
  readonly takes?: Operation["takes"];
  readonly keyed?: boolean;
  readonly gives?: Gives;
  readonly streams?: boolean;
}

/** Something that is read: a GET, unless it says otherwise, which changes nothing. */
export const read = <P extends Fields = Nothing, A extends z.ZodType = z.ZodUndefined>(
  of: Operation["of"],
  call: string,
  said: Said<P, A>,
): Operation<P, A> => make(of, call, { method: "GET", scope: "read", ...said });

/** Something that changes a session, or what the workspace knows: a POST. */
export const change = <P extends Fields = Nothing, A extends z.ZodType = z.ZodUndefined>(
  of: Operation["of"],
  call: string,
  said: Said<P, A>,
): Operation<P, A> => make(of, call, { method: "POST", scope: "write", ...said });

function make<P extends Fields, A extends z.ZodType>(
  of: Operation["of"],
  call: string,
  said: Said<P, A> & Required<Pick<Said<P, A>, "method" | "scope">>,
): Operation<P, A> {
  const { method, answer } = said;
  const usual = of === "engine" ? `/v1/${kebab(call)}` : `/v1/sessions/{id}/${kebab(call)}`;
  return {
    of,
    call,
    method,
    path: said.path ?? usual,
    scope: said.scope,
    summary: said.summary,
    args: said.args ?? [],
    params: z.strictObject(said.params ?? ({} as P)),
    takes: said.takes ?? (method === "POST" ? "json" : "query"),
    keyed: said.keyed ?? false,
    gives: said.gives ?? (answer === undefined ? "nothing" : "json"),
    answer: answer ?? (z.undefined() as unknown as A),
    streams: said.streams ?? false,
  };
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
