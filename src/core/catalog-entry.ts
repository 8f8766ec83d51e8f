/** An entry of the event catalog: all that is said about one type of event. */
import * as z from "zod";

export interface Entry<B extends z.ZodType = z.ZodType, C extends z.ZodType = z.ZodType> {
  /** The version that is written now. Older ones are upcast, see upcast.ts. */
  readonly v: number;
  /** Absent: `v`. A record that an older program would act upon wrongly is written under a higher version. */
  readonly written?: (content: unknown) => number;
  /** One line: what happened. */
  readonly meaning: string;
  /** One line: what is left to say once the content is erased. */
  readonly erased: string;
  readonly body: B;
  readonly content: C;
}

/** An event with a content, which may be left out only where `content` says so. */
export function event<B extends z.ZodType, C extends z.ZodType>(entry: Omit<Entry<B, C>, "v">): Entry<B, C> {
  return { v: 1, ...entry };
}

/** An event that says everything in its body. */
export function bare<B extends z.ZodType>(meaning: string, body: B): Entry<B, z.ZodUndefined> {
  return {
    v: 1,
    meaning,
    erased: "It has no content, so nothing of it can be erased.",
    body,
    content: z.undefined(),
  };
}
