/** A page of sessions, as the kit counts them. Pure. */

export interface ListOptions {
  readonly limit?: number;
  readonly offset?: number;
  readonly page?: number;
  readonly order?: "asc" | "desc";
}

/** A list of sessions. */
export interface SessionsList<T> {
  readonly sessions: T[];
  readonly page: number;
  readonly limit: number;
  readonly totalItems: number;
  readonly totalPages: number;
}

interface ListEntry {
  readonly id: string;
  readonly lastUpdateTime: number;
}

export function listPage<T extends ListEntry>(
  all: readonly T[],
  { limit, offset = 0, page, order }: ListOptions,
): SessionsList<T> {
  const direction = order === "desc" ? -1 : 1;
  const sorted =
    order === undefined
      ? [...all]
      : all.toSorted((a, b) => direction * (a.lastUpdateTime - b.lastUpdateTime) || a.id.localeCompare(b.id));
  const totalItems = all.length;
  if (limit === undefined) {
    const totalPages = totalItems === 0 ? 0 : 1;
    return { sessions: sorted.slice(offset), page: 1, limit: totalItems, totalItems, totalPages };
  }
  const from = page === undefined ? offset : (page - 1) * limit;
  const current = page ?? (limit === 0 ? 1 : Math.floor(from / limit) + 1);
  const totalPages = limit === 0 ? 0 : Math.ceil(totalItems / limit);
  return { sessions: sorted.slice(from, from + limit), page: current, limit, totalItems, totalPages };
}
