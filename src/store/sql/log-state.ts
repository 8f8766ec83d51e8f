/** The states of a log, as both SQL drivers store them. */
export const state = { seen: 0, deleted: 1, prefix: 2, receiving: 3 } as const;
