/** What retrieval for an input lacked, in words. */

const texts: Readonly<Record<string, string>> = {
  "search-behind": "the words of older turns are still being indexed, so some were not looked at",
  "embedding-failed": "the embedding model did not answer; ranked by words alone",
  "embedding-down": "the embedding model still does not answer; ranked by words alone",
};

/** The note of a `context.retrieved`, for a person. */
export const lackedText = (note: string): string => texts[note] ?? note;
