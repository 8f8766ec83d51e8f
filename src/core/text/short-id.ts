/** The short form of an id, the same on every surface. */

/** The last 8 characters: enough to tell sessions apart, and a suffix that every command accepts. */
export const shortId = (id: string): string => id.slice(-8);
