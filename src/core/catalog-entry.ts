/** An entry of the event catalog: everything about one event type, except its fold. */
import * as z from "zod";

export interface CatalogEntry<B extends z.ZodType = z.ZodType, C extends z.ZodType = z.ZodType> {
  /** The current version. Older ones are upcast, see upcast.ts. */
  readonly v: number;
  /**
   * The version to write, by content and body. Default: `v`. A higher version keeps an older program from
   * misreading the record.
   */
  readonly written?: (content: unknown, body: unknown) => number;
  /** One line: what happened. */
  readonly meaning: string;
  /** One line: what remains once the content is erased. */
  readonly erased: string;
  readonly body: B;
  readonly content: C;
  /**
   * One line for a list: facts first, free text last. The content is undefined once it is erased. Declared as
   * a method, so that an entry with its own body fits where any entry is expected.
   */
  summary(body: z.infer<B>, content: z.infer<C> | undefined): string;
  /** One event of the type with every optional field. Folds, golden logs and the docs use it. */
  readonly sample: { readonly body: z.infer<B>; readonly content?: z.infer<C> };
}

/** An event with a content. The content is optional only where its schema says so. */
export function event<B extends z.ZodType, C extends z.ZodType>(
  entry: Omit<CatalogEntry<B, C>, "v"> & { readonly v?: number },
): CatalogEntry<B, C> {
  return { v: 1, ...entry };
}

/** An event with a body and no content. */
export function bare<B extends z.ZodType>(
  entry: Pick<CatalogEntry<B, z.ZodUndefined>, "meaning" | "body" | "summary" | "sample">,
): CatalogEntry<B, z.ZodUndefined> {
  const erased = "It has no content, so nothing of it can be erased.";
  return { v: 1, ...entry, erased, content: z.undefined() };
}
