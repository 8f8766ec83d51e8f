/** The sample of every event type, as the catalog has it. */
import { entryOf, eventTypes, type BodyOf, type ContentOf, type EventType } from "../../src/core/catalog.ts";

type Samples = {
  readonly [T in EventType]: { readonly body: BodyOf<T>; readonly content?: ContentOf<T> };
};

export { otherSession } from "../../src/core/sample.ts";
export const samples = Object.fromEntries(
  eventTypes.map((type) => [type, entryOf(type)?.sample]),
) as unknown as Samples;
