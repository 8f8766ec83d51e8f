/** Optional fields: leaves out those that are undefined. */

type MayBeAbsent<V> = unknown extends V ? false : undefined extends V ? true : false;

/** `T` whose fields that may be undefined are optional. */
type Present<T> = { [K in keyof T as MayBeAbsent<T[K]> extends true ? never : K]: T[K] } & {
  [K in keyof T as MayBeAbsent<T[K]> extends true ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without its undefined fields, as `exactOptionalPropertyTypes` requires. */
export function present<T extends object>(object: T): Present<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Present<T>;
}
