/** The short form of an id, the same on every surface. */

/** The last 8 characters: enough to distinguish sessions, and a suffix that every command accepts. */
export const shortId = (id: string): string => id.slice(-8);
